//! The table of weights: every number by which discovery decides.
//!
//! A row is a name, a weight, its reason, and its pin: an example whose verdict changes if the
//! weight becomes the row's last number. Odds are natural logarithms; shares and likenesses are 0
//! to 1; other numbers are counts. No weight is fitted to a schema.

#[cfg(test)]
pub(crate) mod tests;

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    pub name: &'static str,
    pub weight: f64,
    pub why: &'static str,
    pub pin: Pin,
}

/// What notices that a weight has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pin {
    /// The name of the example; empty if there is none yet.
    pub example: &'static str,
    /// A weight with which the example gets another verdict.
    pub at: f64,
}

/// A weight, by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight(usize);

impl Weight {
    pub(crate) fn get(self) -> f64 {
        #[cfg(test)]
        if let Some(changed) = tests::changed(self.0) {
            return changed;
        }
        TABLE.get(self.0).map_or(0.0, |row| row.weight)
    }

    /// Returns a whole number that is not negative.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of the table are small and whole"
    )]
    pub(crate) fn count(self) -> u64 {
        self.get() as u64
    }

    pub(crate) fn size(self) -> usize {
        usize::try_from(self.count()).unwrap_or(usize::MAX)
    }

    /// Returns a whole number.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "numbers of the table are small and whole"
    )]
    pub(crate) fn signed(self) -> i64 {
        self.get() as i64
    }
}

/// Returns `part / whole`; 0 if `whole` is 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of words, columns and tables"
)]
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Returns whether a number reaches a share of another.
#[expect(
    clippy::cast_precision_loss,
    reason = "ends of ranges are compared in percent"
)]
pub(crate) fn reaches(number: i64, end: i64, least: Weight) -> bool {
    number as f64 >= end as f64 * least.get()
}

macro_rules! weights {
    ($($name:ident $weight:literal $why:literal, $example:literal $at:literal;)*) => {
        #[expect(
            non_camel_case_types,
            clippy::upper_case_acronyms,
            reason = "places have the names of their rows"
        )]
        enum Place {
            $($name),*
        }

        $(pub(crate) const $name: Weight = Weight(Place::$name as usize);)*

        /// All rows, by topic.
        pub const TABLE: &[Row] = &[
            $(Row {
                name: stringify!($name),
                weight: $weight,
                why: $why,
                pin: Pin { example: $example, at: $at },
            }),*
        ];
    };
}

weights! {
    // Words and their forms.
    WORD_FORM 0.98 "two inflected forms of one word", "dogs" 1.01;
    WORD_DIGRAPH 0.96 "forms of one word, one of them with `ae` for an umlaut", "sampled school: kunde_nr (de)" 1.01;
    DIGRAPH_LETTERS 4.0 "shorter words are not read as spelling out an umlaut", "sampled school: kunde_nr (de)" 5.0;
    FORM_LETTERS 3.0 "letters that two forms of a word share at least", "sampled school: kunde_nr (de)" 5.0;
    FORM_STEM 4.0 "letters that they share if both have an ending of their own", "sampled shop: kunde_nr (de)" 9.0;
    SHORTHAND_LETTERS 2.0 "a single letter abbreviates nothing", "league" 4.0;
    BEGINNING_OF_TWO 0.55 "the first two letters of a word", "school" 1.0;
    BEGINNING_OF_THREE 0.8 "the first three letters of a word", "sampled addresses as second keys" 0.82;
    BEGINNING 0.86 "a longer beginning of a word", "sampled names carried along beside the key" 0.91;
    CONSONANTS_LETTERS 3.0 "letters of an abbreviation that leaves out vowels", "sampled depot" 2.75;
    CONSONANTS_SHARE 0.8 "such an abbreviation is shorter than this share of the word", "columns of bikes" 0.85;
    CONSONANTS_VOWELS 3.0 "one vowel in this many of its letters", "columns of bikes" 4.0;
    CONSONANTS 0.78 "letters of the word in order, few of them vowels", "sampled bikes" 0.93;
    TWO_LETTERS 0.4 "the first letter of a word and a later consonant", "sampled depot" 0.9;
    SAME_WORD 0.9 "likeness above which two words are one", "dogs" -0.1;
    SYNONYM 0.75 "two words for one kind of thing, less than two forms of one", "sampled names carried along beside the key" 1.05;
    COMPOUND 0.8 "the last part of a compound word", "sampled ferries" 1.1;
    COMPOUND_LETTERS 5.0 "letters of such a part; shorter ones end many words", "sampled an unknown key word glued on" 6.0;
    // Entities in names.
    WHOLE_NAME 0.5 "likeness from which two names are compared word by word", "league" 1.0;
    VAGUE 0.4 "likeness below which names have nothing in common", "sampled ferries" 0.5;
    ROLE_BEFORE 0.93 "words before the entity are a role: `billing_address`", "sampled names carried along beside the key" 0.88;
    SHORT_NAME 0.88 "the column leaves out the first words of the table", "sampled addresses as second keys" 0.9;
    LAST_WORD_ONLY 0.5 "only the last words are alike", "sampled like tables of several applications" 1.0;
    ROLE_BEHIND 0.9 "a role follows the entity: `address_billing`", "sampled shop: cu_citykey -> city.ci_citykey" 0.85;
    ENTITY_BEHIND 0.62 "another word follows, which is rather the entity", "sampled names carried along beside the key" 0.6;
    LISTS_KINDS 0.72 "the table lists kinds: `kind_type`", "sampled lists of kinds" 0.57;
    ITEM_OF 0.42 "the table holds parts: `order_item` is not an order", "sampled lists of kinds" 0.43;
    INITIALS 0.72 "the initials of several words", "likeness of words" 0.73;
    INITIALS_LETTERS 2.0 "one letter is the initial of too much", "likeness of words" 3.0;
    LED 0.9 "the key word comes first, then the entity, then a role", "sampled an unknown key word alone and before" 1.05;
    COPY_NUMBER 4.0 "digits of a date or version at the end of a copy's name", "sampled roles that only the size of a table explains" 2.0;
    GLUED_STEM 4.0 "letters before a key word that is joined by custom", "sampled school: cu_citykey -> city.ci_citykey" 5.0;
    UNGLUED_STEM 3.0 "letters before a key word that may be joined", "werkstatt" 4.0;
    DOER_STEM 4.0 "letters that an agent shares with the deed", "sampled depot" 5.0;
    ROLE_LETTERS 6.0 "letters of a role that may begin a longer word", "sampled school: customerid, glued" 8.0;
    TELLING_LETTERS 2.0 "shorter words tell nothing", "dogs" 4.0;
    SHORT_ROLE 5.0 "roles with fewer letters are also other words: `pai`, `pais`", "second keys of an account" 3.5;
    // Parts of the database.
    MODULE_LETTERS 6.0 "longer first words name a module only if tables have twins", "hubs and satellites" 1.0;
    MODULE_TABLES 3.0 "tables that share a word that names a part", "sampled like tables of several applications" 4.0;
    MODULE_OF_ALL 6.0 "tables of a database in which all begin with a module", "columns of one long module" 7.0;
    PART_SHARE 0.5 "share of the tables that resemble their twin more than others", "sampled parts behind the names of tables" 1.0;
    TWIN_COLUMNS 2.0 "columns that twins share at least", "sampled parts behind the names of tables" 3.0;
    TWIN_SHARE 0.7 "share of their columns that twins share", "sampled parts behind the names of tables" 1.2;
    TWINS 2.0 "tables with a twin", "sampled parts behind the names of tables" 4.0;
    TWIN_TABLES 0.5 "share of the tables of a part that have a twin", "sampled parts behind the names of tables" 1.25;
    TWIN_KINDS 2.0 "different tables of a part; one kind is a series", "sampled parts behind the names of tables" 4.0;
    TWIN_KINDS_SHARE 0.5 "share of the tables of a part that differ", "sampled parts behind the names of tables" 1.25;
    PREFIX_COLUMNS 3.0 "columns of a table whose common beginning counts", "school" 2.75;
    PREFIX_SHARE 0.8 "share of the columns that have it", "sampled an unknown key word alone and before" 0.6;
    PREFIX_LETTERS 2.0 "letters of a beginning that is joined to a word", "sampled two letters before each column" 1.75;
    PREFIX_WORD 4.0 "letters of such a word with its beginning", "sampled two letters before each column" 6.0;
    PREFIX_STEM 2.0 "letters that remain of it", "sampled two letters before each column" 4.0;
    // Shapes of values.
    ADDRESSES 0.8 "share of texts that are addresses, so that all count as such", "sampled names carried along beside the key" 1.0;
    CODE_DIGITS 0.8 "share of texts with digits from which they are codes", "columns of a join that people run" 1.0;
    CODE_BLANKS 0.1 "codes have no spaces", "columns of a join that people run" 0.0;
    CODE_SHORTEST 2.0 "letters of codes of one length", "columns of empty tables" 1.99;
    CODE_LONGEST 40.0 "longer texts of one length are rather descriptions", "columns of bikes" 1.0;
    CODED 0.8 "share of texts with more digits than letters", "sampled account numbers with blanks" 1.0;
    WORDED 0.5 "share of texts with spaces, which are names or titles", "sampled words inside lists of names" 0.0;
    UUIDS 0.9 "share of UUIDs from which a text column holds them", "sampled nombres as keys (es)" -0.1;
    DENSE 0.8 "share of a range that keys without gaps fill", "dogs" 1.1;
    DENSE_START 20.0 "a sample starts at one if its end is this many times its start", "sampled numbered roles and second keys" 0.0;
    KEY_LONGEST 255.0 "longer texts are not keys", "dogs" 0.0;
    // Keys.
    OWN_NAME 0.7 "likeness from which a key is called like its own table", "sampled names carried along beside the key" 1.2;
    OWN_WEAK 0.85 "a bare weak key word: `no`", "columns of second keys of an account" 0.86;
    KEY_OF_NAME 0.75 "a key called like its table, with a key word", "sampled names carried along beside the key" 0.45;
    KEY_OF_WEAK_NAME 0.55 "the same with a word of several meanings", "sampled tennis" 0.35;
    KEY_OF_LIKENESS 0.2 "more by how much it is called so", "dogs" -0.55;
    KEY_OF_ENTITY 0.55 "a column called like its table alone", "sampled ferries" 0.05;
    KEY_MARKED 0.6 "unique, with a key word", "sampled lines and places" 0.55;
    KEY_WEAK 0.5 "unique, with a word of several meanings", "numbers of rows of one count" 0.7;
    KEY_UNMARKED 0.35 "unique, with a telling name", "sampled ferries" 0.05;
    KEY_NAMELESS 0.6 "unique, in a table or column whose name tells nothing", "sampled school: c17 -> t3.c4, uuids" 0.59;
    KEY_FIRST 0.12 "keys come first", "sampled ferries" -0.08;
    KEY_NUMBER 0.04 "keys are rather numbers than texts", "sampled ferries" -0.26;
    KEY_CODE 0.03 "or texts that look like codes", "sampled numbers that begin at one base" 0.13;
    KEY_MEASURE -0.4 "measures may be unique by chance", "sampled kinds and exports with gaps in their own numbers" 0.0;
    KEY_DOUBLED -0.1 "a few values repeat", "sampled e-mail addresses as keys" -0.08;
    KEY_UNIQUE 0.9995 "uniqueness below which they do", "sampled numbers that begin at one base" 1.0095;
    KEY_LEAST 0.05 "a key is at least possible", "sampled tennis" 0.0;
    KEY_MOST 0.99 "and never certain unless declared", "sampled addresses as second keys" 1.04;
    KEY_ADDRESS 0.28 "addresses are keys if there is nothing better", "sampled names carried along beside the key" 0.3;
    KEY_ATTRIBUTE 0.2 "names and titles even less", "sampled names carried along beside the key" 0.3;
    KEY_WORDS 0.15 "free text least", "sampled names of places as keys" 0.3;
    KEY_REPEATS 0.98 "uniqueness below which values repeat", "dogs" 1.01;
    KEY_NULLS 0.05 "share of empty values that dirty keys may have", "dogs" -0.05;
    KEY_ROWS 2.0 "rows below which uniqueness says nothing", "movies" 5.0;
    KEY_GOOD 0.3 "strength from which weaker keys of a table do not count", "sampled names carried along beside the key" 0.28;
    DAY_KEY 0.7 "strength of the day of a list of days", "sampled un calendario de textos (es)" 0.8;
    ONE_EACH 0.999 "uniqueness from which each row has its own value", "sampled names carried along beside the key" 0.849;
    VIEWS 0.5 "share of tables below which views are tables", "columns of views over one table" 0.2;
    FILLED 0.005 "share of empty values of a column that is always filled", "sampled school: few rows" 0.0;
    AGENT_LETTERS 5.0 "letters of a word with the ending of an agent", "league" 7.0;
    ENDS_MANY 100.0 "distinct numbers from which an equal end is not a coincidence", "bikes" 50.0;
    ENDS_ROUND 50.0 "counts end at multiples of this", "agents whose numbers end with the keys" 1.0;
    ENDS_SLACK 3.0 "average steps between an end and the last key", "" 3.0;
    // Lists of days.
    DAYS_FEWEST 28.0 "days of a list", "a month of days" 29.0;
    DAYS_LISTED 0.7 "share of the days in its range; weekends may be missing", "sampled claims" 1.2;
    DAYS_DESCRIBED 53.0 "distinct numbers that describe a day: weeks of a year", "a month of days" 52.99;
    DAYS_PARTS 2.0 "calendar parts beside the day", "un calendario de textos (es)" 3.0;
    // Key words of this database.
    LEARNED_TABLES 3.0 "tables whose keys have a word", "clinic" 2.75;
    LEARNED_CONTAINED 0.85 "share of the values that are keys of the named table", "sampled an unknown key word behind, roles before" 1.05;
    LEARNED_LIKENESS 0.85 "likeness of the named table", "sampled school: few rows, cod_cliente" 1.0;
    LEARNED_WRONG 4.0 "right columns for each wrong one", "sampled school: 10 % orphans, custNo" 6.0;
    LEARNED_COMMON 0.5 "share of the tables whose keys have one name", "columns of histories with numbers of their own" 0.51;
    LEARNED_LETTERS 2.0 "letters of a key word", "sampled outside numbers under German names" 3.0;
    // Ranges of numbers.
    DRAWS 60.0 "distinct numbers that count as draws from the keys", "shop: customer_id -> customers.id" 80.0;
    SHARP_DRAWS 600.0 "the same if they surely come from some key", "agents whose numbers end with the keys" 1.0;
    DRAWS_EVEN 0.5 "share of them that are drawn evenly", "dogs" -1.0;
    LEAST_SPAN 0.000_001 "span of a single number", "league" 0.750_001;
    FULL_NUMBERS 60.0 "distinct numbers whose ends are not a coincidence", "" 60.0;
    FULL_STEPS 6.0 "average steps that both ends together are from those of the keys", "names that say nothing, dense keys" -4.0;
    WRONG_MARGIN 2.0 "ends further from the middle rows than this part of their range are wrong", "dogs" -1.0;
    WRONG_KEPT 3.0 "this part of that distance is kept", "sampled school: 10 % orphans, custNo" 2.75;
    LAST_KEYS 20_000.0 "last keys among which the last of a column is looked for", "sampled school: 10 % orphans, custNo" 0.0;
    // Candidates.
    VALUES_ASKED 24.0 "values of a column that are looked up among all keys", "sampled ferries" 0.0;
    VALUES_HELD 0.3 "share of them that a key holds", "sampled ferries" 1.05;
    VALUES_MOST 0.9 "share of the best key's from which another holds them as well", "kinds and exports with gaps in their own numbers" 0.85;
    KEYS_OF_SIZE 6.0 "keys of about the right size for dense numbers", "dogs" 3.0;
    SIZE_START -1.0 "numbers that begin lower are not keys from one", "dogs" 2.0;
    SIZE_DISTINCT 3.0 "numbers of a column that are compared by size", "movies" 6.0;
    CALENDARS 6.0 "lists of days for one column", "sampled claims" 0.0;
    RULED_OUT 3.0 "difference in log likelihood of a range that rules a key out", "views over one table" -2.0;
    TABLES_OF_WORD 400.0 "tables that one word may mean", "sampled names carried along beside the key" 0.0;
    KEYS_OF_NAME 2.0 "keys of one name, times the candidates of a column", "sampled account numbers with blanks" 0.0;
    CHECKED_PARENTS 3.0 "parents of one column that are checked in the warehouse", "sampled names carried along beside the key" 0.0;
    // Names in a pair.
    NAMED 0.78 "likeness from which a column names a key", "sampled an unknown key word behind, roles before" 0.98;
    CLEARLY_NAMED 0.85 "likeness from which it does so clearly", "sampled addresses as second keys" 0.7;
    PRIOR -2.2 "any column and any key", "sampled ferries" -3.2;
    NAME_SLOPE 8.0 "likeness above what is vague", "sampled ferries" 6.0;
    NAME_TWICE 0.3 "the name of the key is in the column, too", "sampled names carried along beside the key" -0.45;
    MARK_STRONG 1.0 "a key word in the column", "sampled names carried along beside the key" 1.75;
    MARK_WEAK 0.4 "a key word of several meanings", "sampled numbers beside keys and trades" 1.15;
    MEASURE_NAMED -1.2 "a measure that names the table clearly", "dogs" -4.2;
    MEASURE -3.5 "a measure that does not", "sampled tennis" -1.5;
    UNNAMED_STRONG -0.3 "no name in common, with a key word", "sampled addresses as second keys" -0.25;
    UNNAMED_WEAK -0.8 "the same with a word of several meanings", "sampled numbers beside keys and trades" -0.05;
    UNNAMED_CODE -0.6 "the same with values that look like codes", "sampled words inside lists of names" 0.9;
    UNNAMED -1.8 "the same with nothing that tells of a key", "league" -1.3;
    SECOND_KEY_MEANT 0.7 "the words mean another key of the table", "pairs of sampled second keys of an account" 0.71;
    MODULE_MEANT 0.75 "the words name another module", "sampled like tables of several applications" 0.65;
    PERSON 0.75 "a person's role, and one table holds people", "league" 0.9;
    PERSONS 0.62 "the same if several do", "sampled like tables of several applications" 0.92;
    OTHER_ROLE 0.7 "a person's role in a table of other things", "sampled school: 10 % orphans, custNo" 1.2;
    OWN_ROLE 0.86 "a word for another row of the same table", "sampled ferries" 0.76;
    IN_CONTEXT 0.9 "likeness of the column with its table before it", "sampled lines and places" 1.05;
    SAME_ENTITY 0.95 "likeness from which two tables hold the same things", "sampled audits that hold nothing but the key" 1.05;
    CALLED_SECOND 0.95 "the column names this further key", "pairs of second keys of an account" 0.96;
    CODE_OF_NAME 0.95 "the table's name means its second number", "pairs of second keys of an account" 0.96;
    SECOND_OF_NAME 0.7 "or any other second key", "sampled nombres as keys (es)" 0.65;
    SECOND_NAME 0.9 "likeness of the rest of such a name", "sampled lists of kinds" 0.0;
    SOLE_NAMESAKE 0.9 "called like the key of one table only", "dogs" 1.05;
    TRUNCATED 0.8 "differently truncated names", "clinic" 0.9;
    GLUED_NAME 5.0 "letters of a name that both have as a whole", "sampled e-mail addresses as keys" 6.0;
    SAME_MARKED 0.9 "both names have a key word", "sampled e-mail addresses as keys" 0.8;
    SAME_DENSE 0.8 "the whole name of a key without gaps", "" 0.8;
    SAME_WHOLE 0.85 "the whole name of another key", "" 0.85;
    SAME_CODE 0.75 "a name in common and values that look like codes", "sampled un calendario de textos (es)" 0.77;
    SAME_PLAIN 0.5 "a name in common and nothing else", "sampled names carried along beside the key" 0.7;
    EXTENDS 1.01 "the table extends the other; above any name", "numbers that begin at one base" 1.0;
    COUNTS_ROWS -3.0 "a plural without a key word", "league" -1.0;
    COUNT_LETTERS 4.0 "letters of a plural", "league" 6.0;
    COUNT_SPAN 0.97 "span from which such numbers are keys nevertheless", "league" 0.0;
    // What backs a pair.
    STATED 5.0 "a context source tests it, as good as a daily join", "pairs of a reference that a test checks" 5.01;
    QUERIES 3.0 "a past query joins the two", "pairs of a join that people run" 3.01;
    QUERIES_SLOPE 0.5 "by the logarithm of the runs", "pairs of a join that people run" 0.51;
    QUERIES_MOST 6.0 "however often", "pairs of a join that people run every day" 6.01;
    DAY_IN_LIST 2.6 "all days of a column are in a list of days", "bikes" 1.6;
    DOUBTED 1.0 "most of a pair that a person should look at", "sampled names carried along beside the key" 1.75;
    FLAG_VALUES 2.0 "distinct values of a flag", "pairs of sampled loads and flags" 0.5;
    TECHNICAL_TABLES 4.0 "tables with a column that says how rows arrived", "pairs of loads and flags" 6.0;
    TECHNICAL_SHARE 0.8 "share of the tables that have it", "pairs of loads and flags" 0.85;
    SECOND_NUMBER 0.9 "share of the keys that a second number of the rows has", "sampled numbers of nineteen digits" 1.05;
    // Structure.
    PARENT_KEY 0.7 "strength of a usual key", "dogs" -1.3;
    PARENT_KEY_LEAST -0.4 "a weak one", "sampled names carried along beside the key" -0.7;
    PRIMARY 0.4 "the best key of its table", "sampled ferries" -0.6;
    NOT_PRIMARY -0.4 "another one", "sampled numbers that begin at one base" -0.3;
    OTHER_SCHEMA -0.5 "the tables are in different schemas", "pairs of two schemas" -0.49;
    SAME_LAYER 0.3 "in one layer", "sampled layers of an application" -1.2;
    OTHER_LAYER -1.2 "in different layers", "sampled layers of an application" 0.0;
    SAME_MODULE 0.25 "in one module", "sampled modules of long names" 0.05;
    OTHER_MODULE -0.3 "in different modules", "sampled like tables of several applications" -0.4;
    SATELLITE -3.0 "the parent only describes the rows of another", "sampled hubs and satellites" -1.0;
    COPY -1.5 "the parent looks like a copy", "sampled histories with numbers of their own" -0.5;
    VIEW -1.0 "the parent is a view", "views over one table" -0.99;
    OWN_KEY_NAMED -0.3 "the key of its table that names another", "sampled cust_no, line -> customer_number, row_no" -3.3;
    OWN_KEY -2.4 "the key of its table that does not", "clinic" -2.9;
    UNIQUE_CHILD -0.5 "each row has its own value", "sampled addresses as second keys" -0.35;
    SELF -1.0 "the same table without a role", "sampled names carried along beside the key" -0.25;
    SELF_SHORT -2.0 "and without another word", "dogs" 0.0;
    SELF_OWN -4.0 "a second number of the row itself", "sampled cust_no, line -> customer_number, row_no" -2.0;
    // Values.
    COVERAGE 0.8 "share of values below which two columns are unrelated", "dogs" 1.1;
    COVERAGE_WHOLE 0.995 "share that dirty data reach", "sampled ferries" 1.095;
    COVERAGE_SLOPE 11.5 "every percent below costs the same", "sampled school: few rows, cod_cliente" 12.25;
    FEW_DISTINCT 0.4 "share of the distinct values below which rows repeat few", "sampled ferries" 1.15;
    FEW_DISTINCT_ODDS -0.8 "then the rows match by chance", "school: 10 % orphans, custNo" -3.8;
    SHARED_MOST 4.6 "however many values are shared", "sampled names carried along beside the key" 0.0;
    SHARED_UUID 1.7 "one shared UUID", "sampled school: c17 -> t3.c4, uuids" 1.0;
    SHARED_WORDS 0.8 "one shared text of several words", "nombres as keys (es)" 0.77;
    SHARED_TEXT 0.55 "one shared word", "school" -0.2;
    SHARED_CODE 1.2 "one shared code", "sampled words inside lists of names" 1.95;
    SHARED_SOLE 1.45 "one shared number that only one key holds", "sampled keys of many bases" 1.0;
    SHARED_NUMBER 1.0 "one shared number", "views over one table" 0.8;
    CONTAINERS 0.7 "for the logarithm of the keys that hold the values", "views over one table" 0.71;
    UNCOMPARED -0.2 "no values to compare", "sampled un calendario de textos (es)" -0.1;
    UNCOMPARED_TYPES -1.5 "and different types", "sampled numbers that begin at one base" -1.4;
    RANGE_SLACK 4.0 "ranges of samples meet within this part of their size", "sampled names carried along beside the key" -1.0;
    REMOTE 4.0 "keys that begin this many sizes from zero are remote", "measures among keys that begin above one" 1.0;
    REMOTE_SLOPE 0.5 "by the logarithm of that distance", "sampled school: c17 -> t3.c4, offsets" 0.0;
    REMOTE_MOST 1.6 "however far", "sampled school: c17 -> t3.c4, offsets" 0.6;
    YEARS_FROM 1800.0 "numbers that may be years", "school" 800.0;
    YEARS_TO 2200.0 "the last of them", "sampled school: c17 -> t3.c4, offsets" 22_007.0;
    SET_USED 0.9 "share of the codes that a column uses", "nombres as keys (es)" 1.05;
    SET_CODES 5.0 "codes of a set", "nombres as keys (es)" 55.0;
    SET_MANY 8.0 "codes of a set that are not words", "nombres as keys (es)" 58.0;
    SET_ROWS 2.0 "rows for each code", "nombres as keys (es)" 22.0;
    SET 1.2 "a column uses a whole set of codes", "nombres as keys (es)" 1.05;
    CODES_MOST 60.0 "codes of a short list", "sampled nombres as keys (es)" 40.0;
    CODES_USED 0.3 "for the share of them that is used", "school" -1.2;
    APART 0.98 "share of keys that stay distinct without case and padding", "sampled case and blanks differ" 1.01;
    LOOSE 0.005 "share of rows that case and padding explain, to be told", "case and blanks differ" 0.305;
    LOOSE_JOIN 0.01 "difference to what the warehouse joins", "case and blanks differ" 0.51;
    BESIDE 0.8 "share of the values that a repeated column beside the key holds", "histories with numbers of their own" 1.1;
    OWN_COUNT 0.98 "share of an extension's keys that exist in the other table", "pairs of rows that extend others" 0.96;
    // Dense keys.
    FIT_MANY 50.0 "distinct numbers of a good fit", "sampled batches, sessions, campaigns without a table" 0.0;
    FIT_MANY_SPAN 0.96 "their span", "shop: few rows" 0.93;
    FIT_MANY_ODDS 1.15 "many numbers span all keys", "sampled cust_no, line -> customer_number, row_no" -1.85;
    FIT_SOME 10.0 "distinct numbers of a fair fit", "clinic" 12.0;
    FIT_SOME_SPAN 0.85 "their span", "clinic" 1.0;
    FIT_SOME_ODDS 0.8 "some numbers span nearly all", "dogs" -0.7;
    FIT_FEW 3.0 "distinct numbers of a weak fit", "league" 5.0;
    FIT_FEW_SPAN 0.7 "their span", "sampled school: few rows, cod_cliente" 0.75;
    FIT_FEW_ODDS 0.3 "a few span most", "league" 0.0;
    FIT_ONE_ODDS -0.5 "one number spans nothing", "sampled loads and flags" -0.49;
    SPREAD_NAMED 0.25 "an uneven range counts so much if a name tells", "sampled lines and places" 0.15;
    SPREAD 0.7 "and so much if none does", "dogs" -1.3;
    SPREAD_SPARSE 0.6 "the same for keys that begin elsewhere", "sampled keys of many bases" -0.9;
    SPREAD_LEAST -6.0 "however uneven", "dogs" 4.0;
    PART_SPAN 0.4 "span of a named part of the keys", "sampled lists of kinds" 0.38;
    PART_START 0.08 "or its beginning after the first keys", "sampled lists of kinds" 0.0;
    LEAD_LEAST -0.4 "rows that lead others are few", "sampled numbers beside keys and trades" 1.0;
    PART_MARKED -0.9 "a named part, with a key word", "sampled like tables of several applications" -2.4;
    PART_NAMED -1.8 "the same without", "bikes" 0.0;
    PART_LEAST -3.0 "a part that no name tells", "dogs" 2.0;
    // Chance.
    UNLIKELY 9.2 "surprise in nats: one in ten thousand", "pairs of rows that extend others" 3.2;
    EXCLUDED 20.7 "one in a billion, whatever the names say", "measures among keys that begin above one" 0.0;
    SHARE_LEAST 0.000_000_000_001 "share of a range that keys fill", "sampled keys of many bases" 1.0;
    TEXTS_FOUND 10.0 "codes and addresses that rule out chance", "shop: c17 -> t3.c4, uuids" 8.0;
    TEXTS_CLEAN 0.98 "share of them that must be found", "pairs of identifiers without names" 1.03;
    TOGETHER 0.9 "span of a key from which both begin and end together", "sampled keys of many bases" 1.0;
    ALONE 1.5 "chance is ruled out without a name", "sampled school: c17 -> t3.c4, uuids" -0.5;
    // Tables of one size.
    SOLE 0.9 "share of the fit that the only key has", "sampled an unknown key word glued on" 1.0;
    SOLE_NUMBERS 15.0 "distinct numbers for a fit", "sampled claims" 12.0;
    SOLE_SPAN 0.97 "span of an exact fit", "sampled names that say nothing, dense keys" 0.99;
    SOLE_MANY 30.0 "numbers of an exact fit", "sampled names that say nothing, dense keys" 40.0;
    SOLE_ALL 0.9 "or share of the keys", "sampled claims" 0.8;
    SOLE_PEOPLE 1.0 "one of several tables of people has the size", "forum" 2.0;
    SOLE_PERSON 0.6 "likeness that marks a person's role", "agents whose numbers end with the keys" 0.8;
    SOLE_RIVAL 0.5 "likeness of a rival that is named", "sampled numbers beside keys and trades" 0.8;
    SOLE_UNMARKED 4.4 "ends where the keys do, without a key word", "agents whose numbers end with the keys" 4.41;
    SOLE_AGENT 2.4 "the form of an agent, with a key word", "agents whose numbers end with the keys" 2.41;
    SOLE_MARKED 2.4 "a key word and an exact fit", "sampled roles that only the size of a table explains" 1.65;
    SOLE_LOOSE 1.9 "a key word and a loose one", "sampled an unknown key word glued on" 1.7;
    SOLE_NAMELESS 2.4 "no telling name and an exact fit", "names that say nothing, dense keys" 2.3;
    SOLE_NAMELESS_LOOSE 1.2 "no telling name and a loose one", "sampled unrelated: c17 -> t3.c4, uuids" 1.7;
    SOLE_WEAK 0.8 "a key word of several meanings", "numbers beside keys and trades" 5.8;
    // Only one table explains the values.
    SCALES 9.2 "logarithm of where numbers of another kind end", "league" 3.2;
    RATINGS 10.0 "keys up to which an end may be that of a rating", "clinic" 0.0;
    RATED -1.5 "and then is", "sampled school: 10 % orphans, custNo" -1.0;
    ONLY_MOST 12.0 "however distinctive the values", "sampled ferries" 2.0;
    ONLY_UNUSED -3.0 "however few keys are used", "school" 1.0;
    ONLY_SELF -1.0 "the same table without a word for it", "league" -1.5;
    ONLY_CLAIMED -3.0 "another column names the key", "ports, codes, versions" -3.25;
    ONLY_UUID 12.0 "each UUID", "" 12.0;
    ONLY_LETTER 0.9 "each letter", "identifiers without names" 0.91;
    ONLY_CODE 6.0 "each code", "sampled ferries" 1.0;
    ONLY_CODE_LETTERS 4.0 "letters of a code", "ferries" 5.0;
    ONLY_PAIR 2.0 "each text of two letters", "sampled bikes" 1.0;
    ONLY_TEXT 2.5 "each other text", "movies" 1.0;
    ONLY_NAME 1.0 "no other table is named", "sampled school: 10 % orphans, custNo" 0.0;
    ONLY_NAME_FROM 0.8 "odds from which only the use of the keys speaks against it", "sampled school: 10 % orphans, custNo" 1.8;
    ONLY_EXACTLY 0.95 "likeness of such a name", "sampled school: 10 % orphans, custNo" 1.05;
    ONLY_KEY 0.3 "strength of a key that no name points to", "sampled ferries" 0.6;
    ONLY_NAMED 0.5 "likeness of a second key", "sampled nombres as keys (es)" 0.4;
    ONLY_STEM 3.0 "letters that two sides of one thing share", "sampled bikes" 4.0;
    ONLY_STAFF 1.2 "a role, and one table of staff holds all of its values", "support" 0.2;
    OPTIONAL_ROW 1.2 "the first of a line has no superior", "sampled ferries" 0.2;
    OPTIONAL_NAME 0.7 "likeness of a word for a superior", "sampled ferries" 0.9;
    ROLE_PEOPLE -4.5 "a role that may mean people elsewhere", "sampled tenants" -5.5;
    ROLE_THINGS -0.8 "a person's role in a table of things", "school" -3.8;
    ROLE -0.3 "any other role", "sampled papers" -1.05;
    ROLE_NONE_DENSE -3.9 "no role, and keys without gaps", "league" -4.4;
    ROLE_NONE_MARKED -1.5 "no role, with a key word", "" -1.5;
    ROLE_NONE -2.5 "no role", "movies" -8.5;
    REFERS_OWN 0.7 "likeness to the own table of what refers elsewhere", "sampled ferries" 0.0;
    // Choosing.
    CALLED 0.9 "likeness of a key that the column is called like", "cycles" 1.1;
    CALLED_MORE 0.1 "by how much more than the best", "sampled histories with numbers of their own" 0.0;
    TOLD 0.2 "likelihood of a candidate that is reported", "dogs" 0.0;
    TOLD_NAME 0.7 "likeness of one that is", "dogs" 0.0;
    TIE 0.05 "difference in odds of two equal parents", "sampled school: few rows" 0.0;
    COINCIDENCE 7.0 "odds from which values in a part of a key are not by chance", "sampled hubs and satellites" 0.0;
    SIZED_SPAN 0.3 "span of the beginning of a key", "sampled a role whose numbers end with another key" 0.0;
    SIZED_RIVAL 0.95 "span of a rival that ends where the numbers do", "sampled a role whose numbers end with another key" 1.05;
    SIZED_NUMBERS 15.0 "distinct numbers for that", "sampled a role whose numbers end with another key" 65.0;
    HOME 0.15 "likeness that a table of the own module may lack", "sampled shop: three applications" -0.05;
    OWNER 0.15 "likeness that the owner of a borrowed key may lack", "" 0.15;
    AGREES 1.3 "columns of this name refer there elsewhere", "sampled employees among persons" -0.7;
    EMPTY_NAMED 0.9 "likeness that stands for values that are missing", "empty tables" 0.85;
    LENT -0.6 "a larger key holds the same values", "shop: c17 -> t3.c4, uuids" -1.35;
    IMPLIED 0.005 "rows that a wider link may lack", "sampled school: few rows" -0.005;
    // Keys of several columns.
    GROUP_UNNAMED 0.6 "likeness of columns without telling names", "sampled tenants" 0.9;
    GROUP_CONTAINED 0.85 "share of a column's values in the key's column", "papers" 0.82;
    GROUP_PARTLY 0.2 "the same for a column of the key's name", "sampled tenants" 1.2;
    GROUP_USED_UP 0.25 "share of combinations of a key by design", "auftrag, pos -> beleg, zeile" 0.55;
    GROUP_NAMED 0.8 "likeness from which the columns belong together", "sampled tenants" 0.95;
    GROUP_MATCHED 0.75 "mean likeness of two groups", "sampled tenants" 0.95;
    GROUP_WAYS 6.0 "columns tried for one key column without a name", "sampled an unknown key word glued on" 0.0;
    GROUP_CHILDREN 100.0 "tables tried for one key", "sampled an unknown key word glued on" 0.0;
    GROUP_KEYS 2.0 "keys of a table with a telling name", "sampled an unknown key word glued on" 0.0;
    GROUP_SINGLE 0.75 "strength of a single key that others use instead", "sampled keys of many bases" 0.77;
    GROUP_WEIGHT 1.0 "weight of the weakest column", "sampled an unknown key word glued on" 2.5;
    GROUP_LINKED 2.0 "a column with a link of its own or a key word", "sampled an unknown key word glued on" 0.0;
    GROUP_WEAK 1.5 "a key word of several meanings", "sampled school: few rows" 0.75;
    GROUP_ORDINAL 1.2 "a line number", "auftrag, pos -> beleg, zeile" 0.9;
    GROUP_FREE 1.0 "a column without a name, or found elsewhere", "sampled depot" 0.99;
    GROUP_SHARED 0.9 "both columns refer to one key", "sampled depot" 0.89;
    GROUP_TABLE 0.95 "likeness of a column that names the key's table", "sampled tennis" 0.0;
    GROUP_ENTITY 0.9 "that likeness as one of columns", "sampled depot" 0.89;
    GROUP_QUALIFIED 0.7 "likeness of the words before the key's name", "tenants" 0.0;
    GROUP_BASE 0.78 "likeness of two columns without key words", "sampled school: CUST_ID, upper case, cut short" 1.08;
    GROUP_BASE_ODDS 0.9 "for that likeness", "sampled school: CUST_ID, upper case, cut short" 0.4;
    GROUP_ROLE 0.85 "a role of the key's table", "sampled tenants" 0.55;
    GROUP_INNER 60.0 "numbers that are not months or lines", "" 60.0;
    ANCHOR_PROBES 256.0 "values of a key's column to match", "shop: 10 % orphans, custNo" 156.0;
    ANCHOR_ASKED 24.0 "values of a column that are looked up", "shop: 5 % orphans" 4.0;
    ANCHOR_FOUND 3.0 "of them that are found", "shop: few rows" 5.0;
    ANCHOR_HELD 0.9 "share of them", "shop: 10 % orphans, custNo" 0.93;
    ANCHOR_END 0.9 "share of a range from which both end together", "sampled depot" 0.4;
    ANCHOR_KEYS 6.0 "keys for one column of dense numbers", "shop: few rows" 1.0;
    ANCHOR_FURTHER 3.0 "further columns tried", "shop: few rows" 1.0;
    ANCHOR_CONTAINED 0.97 "share of a column's values in the key's column", "depot" 1.02;
    ANCHOR_NOTHING 0.95 "share of groups by chance that says nothing", "claims" 1.05;
    ANCHOR_LIKE 0.7 "likeness of the first column", "shop: few rows, cod_cliente" 0.0;
    GROUP_COVERAGE 0.97 "share of groups that match without names", "sampled school: c17 -> t3.c4, offsets" 1.02;
    GROUP_WELL_NAMED 0.9 "likeness that needs no other evidence", "sampled depot" 0.91;
    GROUP_SURE 13.8 "surprise in nats: one in a million", "answers about groups" 16.8;
    GROUP_LIKELY 6.9 "surprise for a look", "shop: few rows" 1.0;
    GROUP_COMPARED 10.0 "groups compared without names", "depot" 107.0;
    GROUP_FEWEST 3.0 "groups compared", "sampled tenants" 23.0;
    GROUP_UNNAMED_DENSE 0.5 "share of combinations without names", "sampled school: c17 -> t3.c4, offsets" 0.0;
    GROUP_DENSE 0.75 "share of combinations in which any group is found", "sampled school: few rows" 0.45;
    GROUP_WHOLE 0.995 "share of groups of an owner", "sampled depot" 1.005;
    GROUP_SCORE 0.7 "an accepted link", "answers about groups" 0.71;
    GROUP_SCORE_SLOPE 0.28 "more by coverage and names", "sampled school: three applications" 0.0;
    GROUP_SCORE_NAME 0.8 "with at least this likeness", "answers about groups" 0.81;
    GROUP_SCORE_VALUES 0.2 "more by coverage alone", "answers about groups" 0.21;
    GROUP_OPEN 0.55 "a link that chance may explain", "answers about groups" 0.56;
    GROUP_REVIEW 0.6 "a link to look at", "answers about groups" 0.61;
    GROUP_REJECTED 0.5 "for the coverage of a rejected one", "answers about groups" 0.51;
    GROUP_KEY 0.9 "strength of a key of several columns", "answers about groups" 0.91;
    GROUP_NEARER 0.9 "a link that leads on as the key does", "" 0.9;
}
