//! Entities, references, and columns that only resemble references.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Many,
    /// At most one child per parent.
    One,
    Optional,
}

#[derive(Debug, Clone, Copy)]
pub struct Refers {
    pub to: &'static str,
    pub role: Option<&'static str>,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    Count(&'static str, u64),
    /// A permutation of 1 to the number of rows.
    Order(&'static str),
    Year(&'static str),
    Flag(&'static str),
    Word(&'static str),
    Amount(&'static str),
    Name(&'static str),
    Day(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub struct Entity {
    pub name: &'static str,
    pub rows: u64,
    pub refers: &'static [Refers],
    pub plain: &'static [Plain],
    /// The first reference and a number replace the key.
    pub numbered: bool,
    /// Refers to both columns of a numbered entity.
    pub part_of: Option<&'static str>,
}

const fn refers(to: &'static str) -> Refers {
    Refers {
        to,
        role: None,
        kind: Kind::Many,
    }
}

const fn role(role: &'static str, to: &'static str, kind: Kind) -> Refers {
    Refers {
        to,
        role: Some(role),
        kind,
    }
}

const fn entity(
    name: &'static str,
    rows: u64,
    refers: &'static [Refers],
    plain: &'static [Plain],
) -> Entity {
    Entity {
        name,
        rows,
        refers,
        plain,
        numbered: false,
        part_of: None,
    }
}

pub const SHOP: &[Entity] = &[
    entity(
        "country",
        40,
        &[],
        &[Plain::Name("name"), Plain::Count("rank", 9)],
    ),
    entity(
        "city",
        150,
        &[refers("country")],
        &[Plain::Name("name"), Plain::Count("population", 900)],
    ),
    entity(
        "customer",
        400,
        &[refers("city")],
        &[
            Plain::Name("name"),
            Plain::Flag("active"),
            Plain::Year("year"),
            Plain::Count("points", 300),
        ],
    ),
    entity(
        "address",
        500,
        &[refers("customer"), refers("city")],
        &[Plain::Name("street"), Plain::Order("sort")],
    ),
    entity(
        "category",
        30,
        &[role("parent", "category", Kind::Optional)],
        &[Plain::Name("name"), Plain::Count("level", 4)],
    ),
    entity(
        "supplier",
        60,
        &[refers("city")],
        &[Plain::Name("name"), Plain::Count("rating", 5)],
    ),
    entity(
        "product",
        250,
        &[refers("category"), refers("supplier")],
        &[
            Plain::Name("name"),
            Plain::Amount("price"),
            Plain::Count("weight", 80),
            Plain::Count("stock", 200),
        ],
    ),
    entity(
        "department",
        12,
        &[],
        &[Plain::Name("name"), Plain::Amount("budget")],
    ),
    entity(
        "employee",
        90,
        &[
            refers("department"),
            role("manager", "employee", Kind::Optional),
        ],
        &[
            Plain::Name("name"),
            Plain::Amount("salary"),
            Plain::Count("age", 60),
        ],
    ),
    entity(
        "order",
        900,
        &[
            refers("customer"),
            refers("employee"),
            role("billing", "address", Kind::Many),
            role("shipping", "address", Kind::Many),
        ],
        &[
            Plain::Word("status"),
            Plain::Amount("total"),
            Plain::Day("day"),
            Plain::Count("priority", 5),
        ],
    ),
    Entity {
        numbered: true,
        ..entity(
            "line",
            2000,
            &[refers("order"), refers("product")],
            &[Plain::Count("quantity", 12), Plain::Amount("price")],
        )
    },
    Entity {
        part_of: Some("line"),
        ..entity(
            "return",
            120,
            &[],
            &[Plain::Count("quantity", 4), Plain::Word("reason")],
        )
    },
    entity(
        "payment",
        700,
        &[refers("order")],
        &[
            Plain::Amount("amount"),
            Plain::Word("method"),
            Plain::Count("attempts", 3),
        ],
    ),
    entity(
        "invoice",
        600,
        &[Refers {
            to: "order",
            role: None,
            kind: Kind::One,
        }],
        &[Plain::Amount("amount"), Plain::Year("year")],
    ),
    entity(
        "warehouse",
        8,
        &[refers("city")],
        &[Plain::Name("name"), Plain::Count("capacity", 500)],
    ),
    entity(
        "review",
        350,
        &[refers("product"), refers("customer")],
        &[Plain::Count("rating", 5), Plain::Word("status")],
    ),
    entity(
        "project",
        45,
        &[refers("department"), role("leader", "employee", Kind::Many)],
        &[
            Plain::Name("name"),
            Plain::Amount("budget"),
            Plain::Year("year"),
        ],
    ),
    entity(
        "task",
        480,
        &[refers("project"), refers("employee")],
        &[
            Plain::Count("priority", 5),
            Plain::Word("status"),
            Plain::Count("hours", 40),
        ],
    ),
    entity(
        "setting",
        25,
        &[],
        &[Plain::Name("name"), Plain::Count("value", 20)],
    ),
    entity(
        "log",
        800,
        &[],
        &[
            Plain::Count("duration", 300),
            Plain::Count("level", 5),
            Plain::Word("status"),
            Plain::Year("year"),
        ],
    ),
];

pub const SCHOOL: &[Entity] = &[
    entity(
        "building",
        6,
        &[],
        &[Plain::Name("name"), Plain::Count("level", 5)],
    ),
    entity(
        "room",
        70,
        &[refers("building")],
        &[Plain::Count("capacity", 60), Plain::Count("level", 5)],
    ),
    entity(
        "teacher",
        55,
        &[role("manager", "teacher", Kind::Optional)],
        &[Plain::Name("name"), Plain::Amount("salary")],
    ),
    entity(
        "class",
        25,
        &[refers("teacher"), refers("room")],
        &[Plain::Year("year"), Plain::Name("name")],
    ),
    entity(
        "student",
        600,
        &[refers("class")],
        &[
            Plain::Name("name"),
            Plain::Count("age", 18),
            Plain::Flag("active"),
        ],
    ),
    entity(
        "course",
        80,
        &[refers("teacher"), refers("room")],
        &[
            Plain::Name("name"),
            Plain::Count("points", 12),
            Plain::Count("hours", 40),
        ],
    ),
    Entity {
        numbered: true,
        ..entity(
            "exam",
            300,
            &[refers("course"), refers("room")],
            &[Plain::Day("day"), Plain::Count("duration", 180)],
        )
    },
    Entity {
        part_of: Some("exam"),
        ..entity(
            "result",
            900,
            &[refers("student")],
            &[Plain::Count("score", 100), Plain::Flag("passed")],
        )
    },
    entity(
        "book",
        320,
        &[],
        &[
            Plain::Name("name"),
            Plain::Year("year"),
            Plain::Count("stock", 9),
        ],
    ),
    entity(
        "loan",
        500,
        &[refers("book"), refers("student")],
        &[
            Plain::Day("day"),
            Plain::Word("status"),
            Plain::Count("days", 30),
        ],
    ),
    entity(
        "contract",
        50,
        &[Refers {
            to: "teacher",
            role: None,
            kind: Kind::One,
        }],
        &[Plain::Amount("salary"), Plain::Year("year")],
    ),
    entity(
        "setting",
        15,
        &[],
        &[Plain::Name("name"), Plain::Count("value", 20)],
    ),
];

pub const UNRELATED: &[Entity] = &[
    entity(
        "building",
        40,
        &[],
        &[
            Plain::Count("level", 30),
            Plain::Order("sort"),
            Plain::Year("year"),
        ],
    ),
    entity(
        "book",
        200,
        &[],
        &[
            Plain::Count("quantity", 40),
            Plain::Order("position"),
            Plain::Year("year"),
            Plain::Word("status"),
        ],
    ),
    entity(
        "contract",
        90,
        &[],
        &[
            Plain::Count("days", 90),
            Plain::Count("rating", 5),
            Plain::Amount("total"),
        ],
    ),
    entity(
        "course",
        30,
        &[],
        &[
            Plain::Count("hours", 30),
            Plain::Count("points", 12),
            Plain::Flag("active"),
        ],
    ),
    entity(
        "payment",
        300,
        &[],
        &[
            Plain::Count("attempts", 3),
            Plain::Order("sequence"),
            Plain::Word("method"),
        ],
    ),
    entity(
        "log",
        500,
        &[],
        &[
            Plain::Count("duration", 90),
            Plain::Count("priority", 5),
            Plain::Count("bytes", 400),
        ],
    ),
    entity(
        "setting",
        12,
        &[],
        &[
            Plain::Count("value", 12),
            Plain::Name("name"),
            Plain::Flag("active"),
        ],
    ),
    entity(
        "warehouse",
        60,
        &[],
        &[
            Plain::Count("capacity", 200),
            Plain::Count("stock", 60),
            Plain::Order("rank"),
        ],
    ),
    entity(
        "review",
        120,
        &[],
        &[
            Plain::Count("rating", 5),
            Plain::Count("votes", 120),
            Plain::Year("year"),
        ],
    ),
];

/// English, Spanish, German, French, Portuguese, truncated; plurals in parentheses.
const NAMES: &str = "
country: country(countries) pais(paises) land(laender) pays(pays) pais(paises) ctry(ctry)
city: city(cities) ciudad(ciudades) stadt(staedte) ville(villes) cidade(cidades) cty(cty)
customer: customer(customers) cliente(clientes) kunde(kunden) client(clients) cliente(clientes) cust(cust)
address: address(addresses) direccion(direcciones) adresse(adressen) adresse(adresses) endereco(enderecos) addr(addr)
category: category(categories) categoria(categorias) kategorie(kategorien) categorie(categories) categoria(categorias) cat(cat)
supplier: supplier(suppliers) proveedor(proveedores) lieferant(lieferanten) fournisseur(fournisseurs) fornecedor(fornecedores) supp(supp)
product: product(products) producto(productos) artikel(artikel) produit(produits) produto(produtos) prd(prd)
department: department(departments) departamento(departamentos) abteilung(abteilungen) service(services) departamento(departamentos) dept(dept)
employee: employee(employees) empleado(empleados) mitarbeiter(mitarbeiter) employe(employes) funcionario(funcionarios) emp(emp)
order: order(orders) pedido(pedidos) bestellung(bestellungen) commande(commandes) pedido(pedidos) ord(ord)
line: order_line(order_lines) linea_pedido(lineas_pedido) bestellposition(bestellpositionen) ligne_commande(lignes_commande) item_pedido(itens_pedido) ordln(ordln)
return: return(returns) devolucion(devoluciones) retoure(retouren) retour(retours) devolucao(devolucoes) rtn(rtn)
payment: payment(payments) pago(pagos) zahlung(zahlungen) paiement(paiements) pagamento(pagamentos) pmt(pmt)
invoice: invoice(invoices) factura(facturas) rechnung(rechnungen) facture(factures) fatura(faturas) inv(inv)
warehouse: warehouse(warehouses) almacen(almacenes) lager(lager) entrepot(entrepots) armazem(armazens) whse(whse)
review: review(reviews) resena(resenas) bewertung(bewertungen) avis(avis) avaliacao(avaliacoes) rvw(rvw)
project: project(projects) proyecto(proyectos) projekt(projekte) projet(projets) projeto(projetos) proj(proj)
task: task(tasks) tarea(tareas) aufgabe(aufgaben) tache(taches) tarefa(tarefas) tsk(tsk)
setting: setting(settings) ajuste(ajustes) einstellung(einstellungen) reglage(reglages) ajuste(ajustes) setg(setg)
log: event_log(event_logs) registro(registros) protokoll(protokolle) journal(journaux) registro(registros) evlog(evlog)
building: building(buildings) edificio(edificios) gebaeude(gebaeude) batiment(batiments) edificio(edificios) bldg(bldg)
room: room(rooms) sala(salas) raum(raeume) salle(salles) sala(salas) rm(rm)
teacher: teacher(teachers) profesor(profesores) lehrer(lehrer) professeur(professeurs) professor(professores) tchr(tchr)
class: class(classes) clase(clases) klasse(klassen) classe(classes) turma(turmas) cls(cls)
student: student(students) alumno(alumnos) schueler(schueler) eleve(eleves) aluno(alunos) stud(stud)
course: course(courses) curso(cursos) kurs(kurse) cours(cours) curso(cursos) crs(crs)
exam: exam(exams) examen(examenes) pruefung(pruefungen) examen(examens) exame(exames) exm(exm)
result: result(results) resultado(resultados) ergebnis(ergebnisse) resultat(resultats) resultado(resultados) rslt(rslt)
book: book(books) libro(libros) buch(buecher) livre(livres) livro(livros) bk(bk)
loan: loan(loans) prestamo(prestamos) ausleihe(ausleihen) pret(prets) emprestimo(emprestimos) ln(ln)
contract: contract(contracts) contrato(contratos) vertrag(vertraege) contrat(contrats) contrato(contratos) ctr(ctr)
parent: parent padre eltern parent pai par
manager: manager jefe vorgesetzter chef chefe mgr
leader: leader responsable leiter responsable responsavel ldr
billing: billing facturacion rechnungs facturation cobranca bill
shipping: shipping envio liefer livraison entrega ship
number: line_no num_linea positions_nr num_ligne num_item ln_no
name: name nombre bezeichnung nom nome nm
quantity: quantity cantidad menge quantite quantidade qty
price: price precio preis prix preco prc
amount: amount importe betrag montant valor amt
total: total total summe total total tot
year: year anio jahr annee ano yr
status: status estado zustand statut situacao stat
rating: rating puntuacion sterne note nota rtg
stock: stock existencias bestand stock estoque stk
age: age edad alter age idade age
active: is_active activo aktiv actif ativo actv
salary: salary salario gehalt salaire salario sal
hours: hours horas stunden heures horas hrs
priority: priority prioridad prioritaet priorite prioridade prio
street: street calle strasse rue rua str
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NounForm {
    Singular,
    Plural,
}

pub fn translate(name: &str, column: usize, form: NounForm) -> String {
    let line = NAMES
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let text = line.map_or(name, |line| line.split(' ').nth(column).expect("six names"));
    match text.split_once('(') {
        Some((_, many)) if form == NounForm::Plural => many.trim_end_matches(')').to_owned(),
        Some((one, _)) => one.to_owned(),
        None => text.to_owned(),
    }
}
