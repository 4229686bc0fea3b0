//! A bank, once per warehouse layer.

use crate::databases::shapes::ColumnFill::{Code, Count, Day, Each, Of, UpTo, Word};
use crate::databases::shapes::{DatabaseShape, NoiseLayer};

const ALL: (u64, u64) = (0, 100);
const KINDS: &[&str] = &["owner", "user", "guest"];

const fn layer(before: &'static str, rows: u64) -> NoiseLayer {
    NoiseLayer {
        before,
        rows,
        texts: false,
        twice: 0,
    }
}

const fn raw(before: &'static str, twice: u64) -> NoiseLayer {
    NoiseLayer {
        before,
        rows: 100,
        texts: true,
        twice,
    }
}

pub const COPIES: &[(DatabaseShape, &[NoiseLayer])] = &[
    (
        NAMED,
        &[
            layer("bronze_", 100),
            layer("silver_", 100),
            layer("gold_", 100),
        ],
    ),
    (
        NAMED,
        &[raw("raw_", 0), layer("stg_", 97), layer("mart_", 90)],
    ),
    (
        NAMED,
        &[raw("bronze_", 1), layer("silver_", 100), layer("gold_", 60)],
    ),
    (
        NAMED,
        &[raw("l1_", 0), layer("l2_", 100), layer("l3_", 100)],
    ),
    (
        CODED,
        &[
            layer("bronze_", 100),
            layer("silver_", 95),
            layer("gold_", 80),
        ],
    ),
    (
        CRYPTIC,
        &[
            layer("bronze_", 100),
            layer("silver_", 100),
            layer("gold_", 90),
        ],
    ),
];

const NAMED: DatabaseShape = DatabaseShape {
    label: "a bank in layers",
    tables: &[
        (
            "district",
            77,
            &[("district_id", Count(1)), ("rank", UpTo(9))],
        ),
        (
            "client",
            500,
            &[
                ("client_id", Count(1)),
                ("district_id", Of("district", "district_id", ALL)),
                ("born", Day),
            ],
        ),
        (
            "account",
            420,
            &[
                ("account_id", Count(1)),
                ("district_id", Of("district", "district_id", ALL)),
                ("opened", Day),
            ],
        ),
        (
            "disposition",
            500,
            &[
                ("disp_id", Count(1)),
                ("client_id", Of("client", "client_id", ALL)),
                ("account_id", Of("account", "account_id", ALL)),
                ("kind", Word(KINDS)),
            ],
        ),
        (
            "card",
            200,
            &[
                ("card_id", Count(1)),
                ("disp_id", Of("disposition", "disp_id", ALL)),
            ],
        ),
        (
            "loan",
            150,
            &[
                ("loan_id", Count(1)),
                ("account_id", Of("account", "account_id", ALL)),
                ("months", UpTo(60)),
            ],
        ),
        (
            "transfer",
            1500,
            &[
                ("transfer_id", Count(1)),
                ("account_id", Of("account", "account_id", ALL)),
                ("amount", UpTo(9000)),
            ],
        ),
    ],
};

const CODED: DatabaseShape = DatabaseShape {
    label: "a bank in layers, codes and other bases",
    tables: &[
        (
            "branch",
            40,
            &[("branch_code", Code("B")), ("rank", UpTo(9))],
        ),
        (
            "customer",
            400,
            &[
                ("customer_no", Count(100_001)),
                ("branch_code", Of("branch", "branch_code", ALL)),
                ("since", Day),
            ],
        ),
        (
            "account",
            600,
            &[
                ("account_no", Code("AC")),
                ("holder", Of("customer", "customer_no", ALL)),
                ("kind", Word(KINDS)),
            ],
        ),
        (
            "mandate",
            90,
            &[
                ("account_no", Each("account", "account_no")),
                ("signed", Day),
            ],
        ),
        (
            "posting",
            1500,
            &[
                ("posting_id", Count(1)),
                ("debit_account", Of("account", "account_no", ALL)),
                ("credit_account", Of("account", "account_no", ALL)),
                ("amount", UpTo(9000)),
            ],
        ),
    ],
};

const CRYPTIC: DatabaseShape = DatabaseShape {
    label: "a bank in layers, short names",
    tables: &[
        ("dst", 77, &[("id", Count(1)), ("rk", UpTo(9))]),
        (
            "cli",
            500,
            &[("id", Count(1)), ("dst", Of("dst", "id", ALL)), ("bd", Day)],
        ),
        (
            "acc",
            420,
            &[("id", Count(1)), ("dst", Of("dst", "id", ALL)), ("od", Day)],
        ),
        (
            "dsp",
            640,
            &[
                ("id", Count(1)),
                ("cli", Of("cli", "id", ALL)),
                ("acc", Of("acc", "id", ALL)),
            ],
        ),
        (
            "crd",
            200,
            &[
                ("id", Count(1)),
                ("dsp", Of("dsp", "id", ALL)),
                ("kd", Word(KINDS)),
            ],
        ),
        (
            "trf",
            1500,
            &[
                ("id", Count(1)),
                ("acc", Of("acc", "id", ALL)),
                ("amt", UpTo(9000)),
            ],
        ),
    ],
};
