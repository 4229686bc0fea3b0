//! Databases of particular shapes with known links.

mod build;
mod chance;
mod copies;
mod days;
mod fill;
mod offsets;
mod outside;
mod spelling;
mod texts;
mod tuples;
mod values;
mod words;

pub use build::{NoiseLayer, build_layers, build_shape};
pub use chance::CHANCE;
pub use copies::COPIES;
pub use days::DAYS;
pub use fill::{CalendarPart, ColumnFill, DateForm, Spelling, TextLook};
pub use offsets::OFFSETS;
pub use outside::{NAMELESS, OUTSIDE};
pub use spelling::SPELLING;
pub use texts::TEXTS;
pub use tuples::TUPLES;
pub use words::WORDS;

pub type TablePlan = (&'static str, u64, &'static [(&'static str, ColumnFill)]);

#[derive(Debug, Clone, Copy)]
pub struct DatabaseShape {
    pub label: &'static str,
    pub tables: &'static [TablePlan],
}

use ColumnFill::{Apart, Code, Count, Day, Each, Hash, Like, Of, UpTo, Word};

const ALL: (u64, u64) = (0, 100);
const STATES: &[&str] = &["open", "held", "done"];

pub const SHAPES: &[DatabaseShape] = &[
    DatabaseShape {
        label: "histories with numbers of their own",
        tables: &[
            (
                "acct_route",
                500,
                &[("acct_route_id", Count(1)), ("state", Word(STATES))],
            ),
            (
                "acct_level",
                30,
                &[("acct_level_id", Count(1)), ("rate", UpTo(30))],
            ),
            (
                "acct_stage",
                120,
                &[
                    ("acct_stage_id", Count(1)),
                    ("acct_level_id", Of("acct_level", "acct_level_id", ALL)),
                ],
            ),
            (
                "acct_route_hist",
                20,
                &[
                    ("hist_id", Count(1)),
                    ("acct_route_id", Of("acct_route", "acct_route_id", ALL)),
                    ("version", UpTo(9)),
                ],
            ),
            (
                "acct_level_hist",
                200,
                &[
                    ("hist_id", Count(1)),
                    ("acct_level_id", Of("acct_level", "acct_level_id", ALL)),
                    ("version", UpTo(9)),
                ],
            ),
            (
                "acct_stage_hist",
                200,
                &[
                    ("hist_id", Count(1)),
                    ("acct_stage_id", Of("acct_stage", "acct_stage_id", ALL)),
                    ("version", UpTo(9)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "employees among persons",
        tables: &[
            ("person", 600, &[("person_id", Count(1)), ("born", Day)]),
            (
                "employee",
                200,
                &[
                    ("person_id", Each("person", "person_id")),
                    ("manager_person_id", Of("employee", "person_id", (0, 15))),
                    ("pay", UpTo(9000)),
                ],
            ),
            (
                "unit",
                60,
                &[
                    ("unit_id", Count(1)),
                    ("parent_unit_id", Of("unit", "unit_id", (0, 20))),
                    ("head_person_id", Of("employee", "person_id", (0, 80))),
                ],
            ),
            (
                "assignment",
                500,
                &[
                    ("person_id", Of("employee", "person_id", (0, 95))),
                    ("unit_id", Of("unit", "unit_id", ALL)),
                    ("since", Day),
                ],
            ),
            (
                "visit",
                900,
                &[("person_id", Of("person", "person_id", ALL)), ("day", Day)],
            ),
        ],
    },
    DatabaseShape {
        label: "numbered roles and second keys",
        tables: &[
            (
                "team",
                120,
                &[("id", Count(1)), ("team_api_id", Count(8200))],
            ),
            (
                "player",
                1500,
                &[("id", Count(1)), ("player_api_id", Count(30_500))],
            ),
            (
                "game",
                800,
                &[
                    ("id", Count(1)),
                    ("home_team_api_id", Of("team", "team_api_id", ALL)),
                    ("away_team_api_id", Of("team", "team_api_id", ALL)),
                    ("home_goals", UpTo(7)),
                    ("home_player_1", Of("player", "player_api_id", ALL)),
                    ("home_player_2", Of("player", "player_api_id", ALL)),
                    ("away_player_1", Of("player", "player_api_id", ALL)),
                    ("home_spot_1", UpTo(11)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "lists of kinds",
        tables: &[
            ("kind_type", 7, &[("id", Count(1)), ("kind", Code("k"))]),
            ("role_type", 11, &[("id", Count(1)), ("role", Code("r"))]),
            ("info_type", 110, &[("id", Count(1)), ("info", Code("i"))]),
            ("artist_state", 5, &[("id", Count(1)), ("name", Code("s"))]),
            ("label_state", 5, &[("id", Count(1)), ("name", Code("s"))]),
            (
                "title",
                2000,
                &[("id", Count(1)), ("kind_id", Of("kind_type", "id", ALL))],
            ),
            (
                "artist",
                900,
                &[("id", Count(1)), ("state", Of("artist_state", "id", ALL))],
            ),
            (
                "label",
                150,
                &[("id", Count(1)), ("state", Of("label_state", "id", ALL))],
            ),
            (
                "movie_note",
                4000,
                &[
                    ("id", Count(1)),
                    ("movie_id", Of("title", "id", ALL)),
                    ("info_type_id", Of("info_type", "id", ALL)),
                ],
            ),
            (
                "movie_cast",
                5000,
                &[
                    ("id", Count(1)),
                    ("movie_id", Of("title", "id", ALL)),
                    ("info_type_id", Of("info_type", "id", (15, 40))),
                    ("role_id", Of("role_type", "id", ALL)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "rows of many parents",
        tables: &[
            ("users", 500, &[("id", Count(1)), ("role", UpTo(3))]),
            (
                "posts",
                900,
                &[("id", Count(1)), ("author_id", Of("users", "id", ALL))],
            ),
            (
                "comments",
                3000,
                &[
                    ("id", Count(1)),
                    ("subject_type", Word(&["User", "Photo"])),
                    ("subject_id", Like("users", "id", ALL)),
                    ("user_id", Of("users", "id", ALL)),
                    ("parent_id", Of("comments", "id", (0, 33))),
                ],
            ),
            (
                "files",
                1000,
                &[("id", Count(1)), ("user_id", Of("users", "id", ALL))],
            ),
        ],
    },
    DatabaseShape {
        label: "layers of an application",
        tables: &[
            ("raw_shop_customers", 600, &[("id", Count(101))]),
            (
                "raw_shop_orders",
                1500,
                &[
                    ("id", Count(7001)),
                    ("customer_id", Of("raw_shop_customers", "id", ALL)),
                    ("order_date", Day),
                ],
            ),
            ("stg_shop__customers", 600, &[("customer_id", Count(101))]),
            (
                "stg_shop__orders",
                1500,
                &[
                    ("order_id", Count(7001)),
                    ("customer_id", Of("stg_shop__customers", "customer_id", ALL)),
                    ("order_date", Day),
                ],
            ),
            (
                "dim_customers",
                600,
                &[("customer_key", Hash("c")), ("customer_id", Count(101))],
            ),
            (
                "fct_orders",
                1500,
                &[
                    ("order_key", Hash("o")),
                    ("order_id", Count(7001)),
                    ("customer_key", Of("dim_customers", "customer_key", ALL)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "hubs and satellites",
        tables: &[
            (
                "hub_order",
                900,
                &[("hk_order", Hash("o")), ("order_bk", Code("O"))],
            ),
            (
                "hub_item",
                200,
                &[("hk_item", Hash("i")), ("item_bk", Code("I"))],
            ),
            (
                "sat_order",
                900,
                &[
                    ("hk_order", Each("hub_order", "hk_order")),
                    ("note", UpTo(90)),
                ],
            ),
            (
                "sat_item",
                200,
                &[("hk_item", Each("hub_item", "hk_item")), ("size", UpTo(90))],
            ),
            (
                "lnk_order_item",
                3000,
                &[
                    ("hk_order_item", Hash("oi")),
                    ("hk_order", Of("hub_order", "hk_order", ALL)),
                    ("hk_item", Of("hub_item", "hk_item", ALL)),
                ],
            ),
            (
                "sat_order_item",
                3000,
                &[
                    ("hk_order_item", Each("lnk_order_item", "hk_order_item")),
                    ("pieces", UpTo(9)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "numbers of nineteen digits",
        tables: &[
            (
                "members",
                700,
                &[("id", Apart(1)), ("inviter", Of("members", "id", ALL))],
            ),
            (
                "channels",
                300,
                &[("id", Apart(2)), ("owner", Of("members", "id", ALL))],
            ),
            (
                "messages",
                3000,
                &[
                    ("id", Apart(3)),
                    ("channel", Of("channels", "id", ALL)),
                    ("author", Of("members", "id", ALL)),
                    ("reply_to", Of("messages", "id", ALL)),
                    ("length", UpTo(2000)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "two letters before each column",
        tables: &[
            (
                "CUSTMAST",
                700,
                &[
                    ("CMCUST", Count(100_210)),
                    ("CMTERR", Of("TERRMAST", "TMTERR", ALL)),
                ],
            ),
            (
                "TERRMAST",
                15,
                &[
                    ("TMTERR", Code("T")),
                    ("TMTEXT", Code("x")),
                    ("TMRANK", UpTo(5)),
                ],
            ),
            (
                "ORDHDR",
                1800,
                &[
                    ("OHORD", Count(500_300)),
                    ("OHCUST", Of("CUSTMAST", "CMCUST", ALL)),
                    ("OHSTAT", Word(STATES)),
                ],
            ),
            (
                "ARTRAN",
                1200,
                &[
                    ("ARINV", Count(900_400)),
                    ("ARORD", Of("ORDHDR", "OHORD", ALL)),
                    ("ARAMT", UpTo(5000)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "codes and counts of one look",
        tables: &[
            (
                "client",
                1000,
                &[("c_client_sk", Count(1)), ("c_client_id", Code("AAAA"))],
            ),
            (
                "item",
                1800,
                &[
                    ("i_item_sk", Count(1)),
                    ("i_item_id", Code("AAAA")),
                    ("i_maker_id", UpTo(1000)),
                ],
            ),
            (
                "place",
                500,
                &[("p_place_sk", Count(1)), ("p_place_id", Code("AAAA"))],
            ),
            (
                "clock",
                1440,
                &[("t_clock_sk", Count(1)), ("t_minute", UpTo(59))],
            ),
            (
                "sale",
                5000,
                &[
                    ("s_sold_clock_sk", Of("clock", "t_clock_sk", (33, 90))),
                    ("s_item_sk", Of("item", "i_item_sk", ALL)),
                    ("s_client_sk", Of("client", "c_client_sk", ALL)),
                    ("s_place_sk", Of("place", "p_place_sk", ALL)),
                ],
            ),
            (
                "refund",
                600,
                &[
                    ("r_client_sk", Of("client", "c_client_sk", ALL)),
                    ("r_item_sk", Of("item", "i_item_sk", ALL)),
                    ("r_pieces", UpTo(100)),
                ],
            ),
        ],
    },
];
