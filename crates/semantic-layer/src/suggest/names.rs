//! What the name of a numeric column says about its values.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Can be summed: amounts, quantities.
    Additive,
    /// Can be summed and averaged: distances, salaries.
    Extent,
    /// Can only be averaged: prices, ages.
    Level,
    /// No safe aggregate: keys, codes, rates, coordinates, years.
    Excluded,
    Unknown,
}

/// Shares, rates and statistics: neither sum nor plain average is right.
const RATES: &str = "\
    rate ratio percent pct percentage perc share prop proportion per avg average mean \
    median min max stddev variance factor multiplier margin quote prozent prozentsatz steuersatz zinssatz satz \
    anteil taux pourcentage moyenne tasa tipo porcentaje promedio tasso percentuale taxa \
    porcentagem процент доля 率 比率 割合 占比 비율";

/// Keys, codes, coordinates, calendar fields and ordinals.
const IDENTIFIERS: &str = "\
    id ids at on date time ts key pk fk sk uuid guid code codes zip zipcode postal postcode phone fax account \
    number no nr num sku ean isbn iban hash checksum version rank position pos sequence \
    seq index idx ordinal status state type kind flag category lat lon lng long \
    latitude longitude x y z altitude year yr quarter month week day hour minute epoch \
    timestamp nummer schlüssel schluessel kennung plz postleitzahl jahr monat woche tag \
    breitengrad längengrad numéro numero clé année annee mois código codigo clave año mes \
    latitud longitud codice anno mese chave ano mês jaar maand код номер год месяц широта \
    долгота 番号 コード 年 月 编号 代码 번호 코드 연도";

const AMOUNTS: &str = "\
    amount amounts amt total subtotal revenue sales turnover cost costs fee fees tax taxes \
    vat quantity qty units count cnt payment paid spend spent expense expenses discount \
    profit income earnings refund tip clicks impressions views visits sessions conversions \
    bytes gross net betrag umsatz erlös erloes kosten menge anzahl summe gewinn rabatt \
    steuer montant quantité quantite chiffre ventes coût cout somme importe monto cantidad \
    ingresos ventas costo coste importo quantità quantita ricavo ricavi valor quantidade \
    receita custo bedrag aantal omzet kwota ilość сумма количество выручка 金額 数量 売上 金额 销售额 \
    매출 금액 수량";

const LEVELS: &str = "\
    price age rating score temperature temp height width length depth latency speed balance stock \
    inventory capacity population index level grade gpa odometer pressure humidity temperatur preis alter bestand saldo \
    prix âge solde precio edad prezzo età preço idade prijs leeftijd цена возраст остаток 価格 \
    単価 年齢 价格 年龄 가격 나이";

/// What each row covers, carries, earns or takes.
const EXTENTS: &str = "\
    distance duration weight salary wage wages payroll bonus commission premium freight fare fares tonnage mileage \
    attendance attendees spectators visitors passengers riders guests downloads likes goals assists deaths births \
    casualties injuries hours minutes seconds days gehalt lohn gewicht entfernung strecke dauer stunden minuten \
    zuschauer besucher salaire poids durée duree heures salario distancia duración duracion horas peso distanza durata ore \
    salário duração salaris gewicht afstand duur uren minuten";

/// Words after an extent that keep its meaning.
const MEASURED: &str = "\
    kg lb lbs oz tons tonnes km mi miles meters metres ft feet ms sec secs seconds minutes hrs hours days kwh mwh liters \
    litres played worked flown driven traveled travelled";

/// Words before an extent of one thing at one moment.
const BODILY: &str = "birth body empty tare curb max odometer remaining";

/// Words before a counted plural: `num_items`, `nb_lignes`.
const COUNTING: &str = "num nb nbr n";

/// Amounts before their object: `total_price`, `montant_ttc`.
const LEADING: &str = "\
    total amount sum gross net montant somme coût cout quantité quantite chiffre importe monto \
    cantidad ingresos ventas costo coste importo quantità quantita ricavo valor quantidade \
    receita custo kwota сумма количество выручка";

/// Words after an amount that keep its meaning.
const UNITS: &str = "usd eur gbp chf jpy cny cad aud brl inr dollars euros cents local base ttc ht";

/// Words for a single piece or moment: `unit_cost`, `running_total`.
const SINGLE: &str = "\
    unit each single running cumulative ytd mtd stück einzel unitaire unitario";

/// Words before a condition, which some warehouses store as 0 and 1.
const CONDITIONS: &str = "is has was can should ist hat est";

pub(super) fn meaning(name: &str) -> Meaning {
    let mut words = words(name);
    while let [.., before, last] = words.as_slice()
        && (is_exactly(last, UNITS) || is_exactly(last, MEASURED) && is_in(before, EXTENTS))
    {
        words.pop();
    }
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return Meaning::Unknown;
    };
    let has = |list: &str| words.iter().any(|word| is_in(word, list));
    if is_exactly(first, CONDITIONS) || has(RATES) || is_in(last, IDENTIFIERS) {
        return Meaning::Excluded;
    }
    let counts = match words.get(1) {
        Some(of) if first == "number" && of == "of" => true,
        Some(_) => is_exactly(first, COUNTING) && last.ends_with('s'),
        None => false,
    };
    let is_amount = counts || is_in(last, AMOUNTS) || is_exactly(first, LEADING);
    let is_extent = is_in(last, EXTENTS);
    let is_total = has("total subtotal") && !has("balance stock inventory age");
    match (is_amount, has(LEVELS)) {
        (true, _) if has(SINGLE) => Meaning::Level,
        (false, _) if is_extent && (has(SINGLE) || has(LEVELS) || has(BODILY)) => Meaning::Level,
        (false, _) if is_extent && has(IDENTIFIERS) => Meaning::Excluded,
        (false, _) if is_extent => Meaning::Extent,
        (true, false) => Meaning::Additive,
        (true, true) if is_total => Meaning::Additive,
        (_, true) => Meaning::Level,
        (false, false) if has(IDENTIFIERS) => Meaning::Excluded,
        (false, false) => Meaning::Unknown,
    }
}

fn is_exactly(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Compounds end with their noun (`Rechnungsbetrag`), and some scripts use no spaces.
fn is_in(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| {
        let is_spaceless = known.chars().all(|letter| letter >= '\u{2e80}');
        let is_noun = known.chars().count() >= 5 && known != "count";
        word == known || (is_spaceless || is_noun) && word.ends_with(known)
    })
}

/// Splits at separators and camel case, in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        let ends = !letter.is_alphabetic() || letter.is_uppercase() && was_lower;
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

const LOADERS: &str = "\
    _fivetran _airbyte _dlt _sdc _dbt dbt_ _stitch _etl etl_ _hevo __hevo _meltano \
    _segment";

pub(super) fn is_technical(name: &str) -> bool {
    let name = name.to_lowercase();
    LOADERS
        .split_whitespace()
        .any(|prefix| name.starts_with(prefix))
}

/// When something happened, best first.
const HAPPENED: &str = "\
    ordered order sold invoice payment paid event occurred created date started start \
    datum fecha data дата 日付 日期";

/// Times that say little about the row.
const UPKEEP: &str = "\
    updated modified deleted loaded synced expires expired birth dob changed geändert \
    modifié";

/// Lower is better; `None` if the column is not a time axis.
pub(super) fn time_rank(name: &str) -> Option<usize> {
    let words = words(name);
    let has = |known: &str| words.iter().any(|word| word == known);
    if is_technical(name) || UPKEEP.split_whitespace().any(has) {
        return None;
    }
    let rank = HAPPENED.split_whitespace().position(has);
    Some(rank.unwrap_or(usize::MAX))
}
