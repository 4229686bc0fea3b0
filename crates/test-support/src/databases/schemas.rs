//! Entities, references, and columns that only resemble references.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    Many,
    /// At most one child per parent.
    One,
    Optional,
}

#[derive(Debug, Clone, Copy)]
pub struct EntityReference {
    pub to: &'static str,
    pub role: Option<&'static str>,
    pub kind: ReferenceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainColumn {
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
    pub refers: &'static [EntityReference],
    pub plain: &'static [PlainColumn],
    /// The first reference and a number replace the key.
    pub numbered: bool,
    /// Refers to both columns of a numbered entity.
    pub part_of: Option<&'static str>,
}

const fn refers(to: &'static str) -> EntityReference {
    EntityReference {
        to,
        role: None,
        kind: ReferenceKind::Many,
    }
}

const fn role(role: &'static str, to: &'static str, kind: ReferenceKind) -> EntityReference {
    EntityReference {
        to,
        role: Some(role),
        kind,
    }
}

const fn entity(
    name: &'static str,
    rows: u64,
    refers: &'static [EntityReference],
    plain: &'static [PlainColumn],
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
        &[PlainColumn::Name("name"), PlainColumn::Count("rank", 9)],
    ),
    entity(
        "city",
        150,
        &[refers("country")],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Count("population", 900),
        ],
    ),
    entity(
        "customer",
        400,
        &[refers("city")],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Flag("active"),
            PlainColumn::Year("year"),
            PlainColumn::Count("points", 300),
        ],
    ),
    entity(
        "address",
        500,
        &[refers("customer"), refers("city")],
        &[PlainColumn::Name("street"), PlainColumn::Order("sort")],
    ),
    entity(
        "category",
        30,
        &[role("parent", "category", ReferenceKind::Optional)],
        &[PlainColumn::Name("name"), PlainColumn::Count("level", 4)],
    ),
    entity(
        "supplier",
        60,
        &[refers("city")],
        &[PlainColumn::Name("name"), PlainColumn::Count("rating", 5)],
    ),
    entity(
        "product",
        250,
        &[refers("category"), refers("supplier")],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Amount("price"),
            PlainColumn::Count("weight", 80),
            PlainColumn::Count("stock", 200),
        ],
    ),
    entity(
        "department",
        12,
        &[],
        &[PlainColumn::Name("name"), PlainColumn::Amount("budget")],
    ),
    entity(
        "employee",
        90,
        &[
            refers("department"),
            role("manager", "employee", ReferenceKind::Optional),
        ],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Amount("salary"),
            PlainColumn::Count("age", 60),
        ],
    ),
    entity(
        "order",
        900,
        &[
            refers("customer"),
            refers("employee"),
            role("billing", "address", ReferenceKind::Many),
            role("shipping", "address", ReferenceKind::Many),
        ],
        &[
            PlainColumn::Word("status"),
            PlainColumn::Amount("total"),
            PlainColumn::Day("day"),
            PlainColumn::Count("priority", 5),
        ],
    ),
    Entity {
        numbered: true,
        ..entity(
            "line",
            2000,
            &[refers("order"), refers("product")],
            &[
                PlainColumn::Count("quantity", 12),
                PlainColumn::Amount("price"),
            ],
        )
    },
    Entity {
        part_of: Some("line"),
        ..entity(
            "return",
            120,
            &[],
            &[
                PlainColumn::Count("quantity", 4),
                PlainColumn::Word("reason"),
            ],
        )
    },
    entity(
        "payment",
        700,
        &[refers("order")],
        &[
            PlainColumn::Amount("amount"),
            PlainColumn::Word("method"),
            PlainColumn::Count("attempts", 3),
        ],
    ),
    entity(
        "invoice",
        600,
        &[EntityReference {
            to: "order",
            role: None,
            kind: ReferenceKind::One,
        }],
        &[PlainColumn::Amount("amount"), PlainColumn::Year("year")],
    ),
    entity(
        "warehouse",
        8,
        &[refers("city")],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Count("capacity", 500),
        ],
    ),
    entity(
        "review",
        350,
        &[refers("product"), refers("customer")],
        &[PlainColumn::Count("rating", 5), PlainColumn::Word("status")],
    ),
    entity(
        "project",
        45,
        &[
            refers("department"),
            role("leader", "employee", ReferenceKind::Many),
        ],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Amount("budget"),
            PlainColumn::Year("year"),
        ],
    ),
    entity(
        "task",
        480,
        &[refers("project"), refers("employee")],
        &[
            PlainColumn::Count("priority", 5),
            PlainColumn::Word("status"),
            PlainColumn::Count("hours", 40),
        ],
    ),
    entity(
        "setting",
        25,
        &[],
        &[PlainColumn::Name("name"), PlainColumn::Count("value", 20)],
    ),
    entity(
        "log",
        800,
        &[],
        &[
            PlainColumn::Count("duration", 300),
            PlainColumn::Count("level", 5),
            PlainColumn::Word("status"),
            PlainColumn::Year("year"),
        ],
    ),
];

pub const SCHOOL: &[Entity] = &[
    entity(
        "building",
        6,
        &[],
        &[PlainColumn::Name("name"), PlainColumn::Count("level", 5)],
    ),
    entity(
        "room",
        70,
        &[refers("building")],
        &[
            PlainColumn::Count("capacity", 60),
            PlainColumn::Count("level", 5),
        ],
    ),
    entity(
        "teacher",
        55,
        &[role("manager", "teacher", ReferenceKind::Optional)],
        &[PlainColumn::Name("name"), PlainColumn::Amount("salary")],
    ),
    entity(
        "class",
        25,
        &[refers("teacher"), refers("room")],
        &[PlainColumn::Year("year"), PlainColumn::Name("name")],
    ),
    entity(
        "student",
        600,
        &[refers("class")],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Count("age", 18),
            PlainColumn::Flag("active"),
        ],
    ),
    entity(
        "course",
        80,
        &[refers("teacher"), refers("room")],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Count("points", 12),
            PlainColumn::Count("hours", 40),
        ],
    ),
    Entity {
        numbered: true,
        ..entity(
            "exam",
            300,
            &[refers("course"), refers("room")],
            &[PlainColumn::Day("day"), PlainColumn::Count("duration", 180)],
        )
    },
    Entity {
        part_of: Some("exam"),
        ..entity(
            "result",
            900,
            &[refers("student")],
            &[
                PlainColumn::Count("score", 100),
                PlainColumn::Flag("passed"),
            ],
        )
    },
    entity(
        "book",
        320,
        &[],
        &[
            PlainColumn::Name("name"),
            PlainColumn::Year("year"),
            PlainColumn::Count("stock", 9),
        ],
    ),
    entity(
        "loan",
        500,
        &[refers("book"), refers("student")],
        &[
            PlainColumn::Day("day"),
            PlainColumn::Word("status"),
            PlainColumn::Count("days", 30),
        ],
    ),
    entity(
        "contract",
        50,
        &[EntityReference {
            to: "teacher",
            role: None,
            kind: ReferenceKind::One,
        }],
        &[PlainColumn::Amount("salary"), PlainColumn::Year("year")],
    ),
    entity(
        "setting",
        15,
        &[],
        &[PlainColumn::Name("name"), PlainColumn::Count("value", 20)],
    ),
];

pub const UNRELATED: &[Entity] = &[
    entity(
        "building",
        40,
        &[],
        &[
            PlainColumn::Count("level", 30),
            PlainColumn::Order("sort"),
            PlainColumn::Year("year"),
        ],
    ),
    entity(
        "book",
        200,
        &[],
        &[
            PlainColumn::Count("quantity", 40),
            PlainColumn::Order("position"),
            PlainColumn::Year("year"),
            PlainColumn::Word("status"),
        ],
    ),
    entity(
        "contract",
        90,
        &[],
        &[
            PlainColumn::Count("days", 90),
            PlainColumn::Count("rating", 5),
            PlainColumn::Amount("total"),
        ],
    ),
    entity(
        "course",
        30,
        &[],
        &[
            PlainColumn::Count("hours", 30),
            PlainColumn::Count("points", 12),
            PlainColumn::Flag("active"),
        ],
    ),
    entity(
        "payment",
        300,
        &[],
        &[
            PlainColumn::Count("attempts", 3),
            PlainColumn::Order("sequence"),
            PlainColumn::Word("method"),
        ],
    ),
    entity(
        "log",
        500,
        &[],
        &[
            PlainColumn::Count("duration", 90),
            PlainColumn::Count("priority", 5),
            PlainColumn::Count("bytes", 400),
        ],
    ),
    entity(
        "setting",
        12,
        &[],
        &[
            PlainColumn::Count("value", 12),
            PlainColumn::Name("name"),
            PlainColumn::Flag("active"),
        ],
    ),
    entity(
        "warehouse",
        60,
        &[],
        &[
            PlainColumn::Count("capacity", 200),
            PlainColumn::Count("stock", 60),
            PlainColumn::Order("rank"),
        ],
    ),
    entity(
        "review",
        120,
        &[],
        &[
            PlainColumn::Count("rating", 5),
            PlainColumn::Count("votes", 120),
            PlainColumn::Year("year"),
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
