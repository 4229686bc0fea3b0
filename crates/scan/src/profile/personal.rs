//! Detects columns whose values are withheld because they look personal.

use ktx_relationships::names::words::{Words, fold, word_likeness};
use ktx_relationships::profile::column::ColumnProfile;
use ktx_relationships::types::TypeFamily;

/// In several languages, folded to plain letters.
const PERSONAL: &[&str] = &[
    "email",
    "mail",
    "correo",
    "courriel",
    "epost",
    "phone",
    "telephone",
    "tel",
    "telefon",
    "telefono",
    "telefone",
    "mobile",
    "movil",
    "celular",
    "handy",
    "fax",
    "address",
    "addr",
    "adresse",
    "anschrift",
    "direccion",
    "endereco",
    "indirizzo",
    "street",
    "strasse",
    "rue",
    "calle",
    "rua",
    "via",
    "zip",
    "zipcode",
    "plz",
    "postcode",
    "postal",
    "cep",
    "ssn",
    "nss",
    "cpf",
    "dni",
    "nif",
    "nie",
    "passport",
    "reisepass",
    "pasaporte",
    "passeport",
    "iban",
    "bic",
    "bank",
    "konto",
    "firstname",
    "lastname",
    "surname",
    "fullname",
    "vorname",
    "nachname",
    "prenom",
    "apellido",
    "apellidos",
    "sobrenome",
    "cognome",
    "birth",
    "birthday",
    "birthdate",
    "dob",
    "geburtsdatum",
    "nacimiento",
    "naissance",
    "nascimento",
    "password",
    "passwd",
    "passwort",
    "secret",
    "token",
    "hash",
    "username",
    "login",
];
/// Withheld even if the column is a category.
const SECRETS: &[&str] = &[
    "password", "passwd", "passwort", "secret", "token", "api", "ssn", "iban",
];
/// Beside these words, a `name` is a person's.
const PEOPLE: &[&str] = &[
    "first",
    "last",
    "full",
    "middle",
    "given",
    "family",
    "contact",
    "customer",
    "client",
    "user",
    "person",
    "people",
    "employee",
    "staff",
    "member",
    "patient",
    "student",
    "teacher",
    "author",
    "owner",
    "kunde",
    "kunden",
    "mitarbeiter",
    "benutzer",
    "nutzer",
    "person",
    "cliente",
    "clientes",
    "empleado",
    "empleados",
    "usuario",
    "usuarios",
    "persona",
    "personas",
    "funcionario",
    "pessoa",
    "employe",
    "utilisateur",
    "personne",
    "salarie",
    "doctor",
    "driver",
    "guest",
    "lead",
];
const NAMES: &[&str] = &["name", "nombre", "nom", "nome", "naam", "namn"];
/// Free text and links: not personal, but not worth listing.
const FREE: &[&str] = &[
    "url",
    "uri",
    "link",
    "website",
    "description",
    "descripcion",
    "beschreibung",
    "descricao",
    "comment",
    "comments",
    "comentario",
    "kommentar",
    "commentaire",
    "note",
    "notes",
    "nota",
    "notiz",
    "bemerkung",
    "remark",
    "remarks",
    "message",
    "body",
    "text",
    "bio",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptBack {
    Personal,
    FreeText,
}

pub(crate) fn kept_back(table: &str, column: &ColumnProfile) -> Option<KeptBack> {
    if column.family != TypeFamily::Text {
        let named = names_personal(&column.name);
        return (named && column.family != TypeFamily::Boolean).then_some(KeptBack::Personal);
    }
    let shape = &column.shape;
    if shape.mail > 0.3 || shape.phone > 0.5 || shape.token > 0.5 {
        return Some(KeptBack::Personal);
    }
    if names_personal(&column.name) || names_person(table, &column.name) {
        return Some(KeptBack::Personal);
    }
    let words = Words::of(&column.name);
    let long = column.lengths.is_some_and(|(_, long)| long > 80);
    if shape.url > 0.3 || long || words.has_any(FREE) {
        return Some(KeptBack::FreeText);
    }
    None
}

/// Last words of categories: `address_type`, `phone_verified`.
const CLASSES: &[&str] = &[
    "type", "typ", "tipo", "kind", "status", "state", "category", "class", "country", "format",
    "verified", "valid", "count", "id", "code", "key",
];

fn names_personal(column: &str) -> bool {
    if Words::of(column)
        .0
        .last()
        .is_some_and(|last| CLASSES.contains(&last.as_str()))
        && !Words::of(column).has_any(SECRETS)
    {
        return false;
    }
    let folded = fold(column).replace(|letter: char| !letter.is_alphanumeric(), "");
    Words::of(column).has_any(PERSONAL)
        || PERSONAL
            .iter()
            .any(|word| word.len() >= 8 && folded.contains(word))
}

fn names_person(table: &str, column: &str) -> bool {
    let words = Words::of(column);
    let people = |words: &Words| {
        words.0.iter().any(|word| {
            PEOPLE
                .iter()
                .any(|person| word_likeness(word, person) > 0.95)
        })
    };
    words.has_any(NAMES) && (people(&words) || people(&Words::of(table)))
}
