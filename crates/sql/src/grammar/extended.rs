//! The parser's grammar, extended by [`infix`] and [`prefix`].

use std::any::TypeId;
use std::fmt::Debug;
use std::iter::Peekable;
use std::str::Chars;

use sqlparser::ast::{ColumnOption, Expr, GranteesType, Ident, ObjectNamePart, Statement};
use sqlparser::dialect::{Dialect as ParserDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::{infix, prefix, switches};
use crate::dialect::Dialect;

#[derive(Debug)]
pub struct Grammar {
    stock: Box<dyn ParserDialect>,
    dialect: Dialect,
    extension: Option<Box<dyn Extension>>,
}

/// Operators and values of a single reader of SQL. They take precedence over those of the dialect.
///
/// A parse method returns `None` if the parser is not at one of them.
pub trait Extension: Debug {
    fn precedence(&self, parser: &Parser<'_>, grammar: &Grammar) -> Option<u8>;

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
    ) -> Option<Result<Expr, ParserError>>;

    fn parse_prefix(
        &self,
        parser: &mut Parser<'_>,
        grammar: &Grammar,
    ) -> Option<Result<Expr, ParserError>>;

    /// Returns whether `FROM` and a name may follow a common table.
    fn names_follow_common_tables(&self) -> bool;
}

impl Grammar {
    pub fn new(dialect: Dialect) -> Self {
        Self {
            stock: switches::grammar(dialect),
            dialect,
            extension: None,
        }
    }

    #[must_use]
    pub fn with(self, extension: impl Extension + 'static) -> Self {
        Self {
            extension: Some(Box::new(extension)),
            ..self
        }
    }

    fn precedence(&self, parser: &Parser<'_>) -> Option<u8> {
        self.extension
            .as_ref()
            .and_then(|extension| extension.precedence(parser, self))
            .or_else(|| infix::precedence(parser, self.dialect, &*self.stock))
    }
}

macro_rules! as_in_stock {
    ($($switch:ident)*) => {
        $(
            fn $switch(&self) -> bool {
                self.stock.$switch()
            }
        )*
    };
}

impl ParserDialect for Grammar {
    as_in_stock! {
        allow_extract_custom allow_extract_single_quotes convert_type_before_value
        describe_requires_table_keyword ignores_wildcard_escapes require_interval_qualifier
        requires_single_line_comment_whitespace support_map_literal_syntax
        supports_aliased_function_args supports_alter_column_type_using
        supports_alter_user_as_alter_role supports_array_join_syntax
        supports_array_typedef_with_brackets supports_array_typedef_without_element_type
        supports_asc_desc_in_column_definition supports_bang_not_operator
        supports_binary_kw_as_cast supports_bitwise_shift_operators
        supports_boolean_literals supports_column_definition_trailing_commas
        supports_comma_separated_drop_column_list supports_comma_separated_set_assignments
        supports_comma_separated_trim supports_comment_on supports_comment_optimizer_hint
        supports_connect_by supports_constraint_keyword_without_name
        supports_create_index_with_clause supports_create_table_like_parenthesized
        supports_create_table_multi_schema_info_sources supports_create_table_select
        supports_create_table_using supports_create_view_comment_syntax
        supports_cross_join_constraint supports_cte_without_as
        supports_data_type_signed_suffix supports_detach supports_dictionary_syntax
        supports_dollar_as_money_prefix supports_dollar_placeholder
        supports_double_ampersand_operator supports_empty_projections
        supports_end_transaction_modifier supports_eq_alias_assignment
        supports_exclude_constraint supports_execute_immediate
        supports_explain_with_utility_options supports_extract_comma_syntax
        supports_factorial_operator supports_filter_during_aggregation
        supports_from_first_select supports_from_trailing_commas
        supports_geometric_types supports_group_by_expr supports_group_by_with_modifier
        supports_in_empty_list supports_in_unparenthesized_expr supports_insert_format
        supports_insert_set supports_insert_table_alias supports_insert_table_function
        supports_insert_table_query supports_install supports_interpolate
        supports_interval_options supports_key_column_option supports_lambda_functions
        supports_leading_comma_before_table_options
        supports_left_associative_joins_without_parens supports_limit_by
        supports_limit_comma supports_listen_notify supports_load_data
        supports_load_extension supports_long_type_as_bigint
        supports_map_literal_with_angle_brackets supports_match_against
        supports_match_recognize supports_multiline_comment_hints
        supports_named_fn_args_with_assignment_operator
        supports_named_fn_args_with_colon_operator supports_named_fn_args_with_eq_operator
        supports_named_fn_args_with_expr_name supports_named_fn_args_with_rarrow_operator
        supports_nested_comments supports_notnull_operator
        supports_numeric_literal_underscores supports_numeric_prefix
        supports_object_name_double_dot_notation supports_optimize_table
        supports_order_by_all supports_order_by_using_operator supports_outer_join_operator
        supports_parenthesized_set_variables
        supports_partiql supports_partition_by_after_order_by supports_pipe_operator
        supports_prewhere supports_projection_trailing_commas
        supports_quote_delimited_string supports_select_exclude supports_select_expr_star
        supports_select_format supports_select_item_multi_column_alias
        supports_select_modifiers supports_select_wildcard_except
        supports_select_wildcard_exclude supports_select_wildcard_ilike
        supports_select_wildcard_rename supports_select_wildcard_replace
        supports_select_wildcard_with_alias supports_semantic_view_table_factor
        supports_set_names supports_set_stmt_without_operator supports_settings
        supports_show_like_before_in supports_space_separated_column_options
        supports_start_transaction_modifier supports_string_escape_constant
        supports_string_literal_backslash_escape supports_string_literal_concatenation
        supports_string_literal_concatenation_with_newline supports_struct_literal
        supports_subquery_as_function_arg supports_table_hints
        supports_table_sample_before_alias supports_table_versioning
        supports_top_before_distinct supports_trailing_commas supports_triple_quoted_string
        supports_try_convert supports_unicode_string_literal supports_unpivot_expr
        supports_update_order_by supports_user_host_grantee supports_values_as_table_factor
        supports_window_clause_named_window_reference
        supports_window_function_null_treatment_arg supports_with_fill
        supports_within_after_array_aggregation supports_xml_expressions
    }

    /// `FROM (t a)`.
    fn supports_parens_around_table_factor(&self) -> bool {
        matches!(
            self.dialect,
            Dialect::Sqlite | Dialect::DuckDb | Dialect::MySql | Dialect::MariaDb
        ) || self.stock.supports_parens_around_table_factor()
    }

    fn supports_from_first_insert(&self) -> bool {
        let extension = self.extension.as_ref();
        extension.is_some_and(|extension| extension.names_follow_common_tables())
            || self.stock.supports_from_first_insert()
    }

    fn dialect(&self) -> TypeId {
        self.stock.dialect()
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        self.stock.is_delimited_identifier_start(letter)
    }

    fn is_nested_delimited_identifier_start(&self, letter: char) -> bool {
        self.stock.is_nested_delimited_identifier_start(letter)
    }

    fn peek_nested_delimited_identifier_quotes(
        &self,
        letters: Peekable<Chars<'_>>,
    ) -> Option<(char, Option<char>)> {
        self.stock.peek_nested_delimited_identifier_quotes(letters)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.stock.identifier_quote_style(identifier)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        self.stock.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        self.stock.is_identifier_part(letter)
    }

    fn is_custom_operator_part(&self, letter: char) -> bool {
        self.stock.is_custom_operator_part(letter)
    }

    fn is_reserved_for_identifier(&self, word: Keyword) -> bool {
        self.stock.is_reserved_for_identifier(word)
    }

    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        self.stock.is_column_alias(word, parser)
    }

    fn is_select_item_alias(
        &self,
        explicit: bool,
        word: &Keyword,
        parser: &mut Parser<'_>,
    ) -> bool {
        self.stock.is_select_item_alias(explicit, word, parser)
    }

    fn is_table_factor(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        self.stock.is_table_factor(word, parser)
    }

    fn is_table_alias(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        self.stock.is_table_alias(word, parser)
    }

    fn is_table_factor_alias(
        &self,
        explicit: bool,
        word: &Keyword,
        parser: &mut Parser<'_>,
    ) -> bool {
        self.stock.is_table_factor_alias(explicit, word, parser)
    }

    fn is_identifier_generating_function_name(
        &self,
        name: &Ident,
        parts: &[ObjectNamePart],
    ) -> bool {
        self.stock
            .is_identifier_generating_function_name(name, parts)
    }

    fn get_reserved_keywords_for_select_item_operator(&self) -> &[Keyword] {
        self.stock.get_reserved_keywords_for_select_item_operator()
    }

    fn get_reserved_grantees_types(&self) -> &[GranteesType] {
        self.stock.get_reserved_grantees_types()
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        self.stock.prec_value(precedence)
    }

    fn prec_unknown(&self) -> u8 {
        self.stock.prec_unknown()
    }

    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        self.stock.parse_statement(parser)
    }

    fn parse_column_option(
        &self,
        parser: &mut Parser<'_>,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        self.stock.parse_column_option(parser)
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        self.extension
            .as_ref()
            .and_then(|extension| extension.parse_prefix(parser, self))
            .or_else(|| prefix::parse(parser, self.dialect, &*self.stock))
            .or_else(|| self.stock.parse_prefix(parser))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        self.extension
            .as_ref()
            .and_then(|extension| extension.parse_infix(parser, left))
            .or_else(|| infix::parse(parser, self.dialect, &*self.stock, left))
            .or_else(|| self.stock.parse_infix(parser, left, precedence))
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        self.precedence(parser)
            .map(Ok)
            .or_else(|| self.stock.get_next_precedence(parser))
    }

    fn get_next_precedence_default(&self, parser: &Parser<'_>) -> Result<u8, ParserError> {
        self.precedence(parser)
            .map_or_else(|| self.stock.get_next_precedence_default(parser), Ok)
    }
}
