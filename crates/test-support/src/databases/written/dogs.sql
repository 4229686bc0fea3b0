-- Dogs and vets, tiny: codes of breeds and sizes, owners, charges.
-- link: dogs.owner_id -> owners.owner_id
-- link: dogs.breed_code -> breeds.breed_code
-- link: dogs.size_code -> sizes.size_code
-- link: treatments.dog_id -> dogs.dog_id
-- link: treatments.vet -> vets.vet_id
-- link: treatments.type_code -> treatment_types.type_code
CREATE TABLE breeds (breed_code TEXT, breed_name TEXT);
INSERT INTO breeds VALUES
('ESK', 'Eskimo'),
('HUS', 'Husky'),
('BUL', 'Bulldog');
CREATE TABLE sizes (size_code TEXT, size_description TEXT);
INSERT INTO sizes VALUES
('SML', 'Small'),
('MED', 'Medium'),
('LGE', 'Large');
CREATE TABLE charges (charge_id INTEGER, charge_type TEXT, charge_amount REAL);
INSERT INTO charges VALUES
(1, 'Daily', 98.0),
(2, 'Drugs', 322.0),
(3, 'Health', 640.0);
CREATE TABLE owners (owner_id INTEGER, first_name TEXT, last_name TEXT, state TEXT, zip_code TEXT);
INSERT INTO owners VALUES
(1, 'Finn', 'Nagel', 'Texas', '93230'),
(2, 'Jana', 'Petit', 'Utah', '72212'),
(3, 'Zoe', 'Quast', 'Utah', '76202'),
(4, 'Quinn', 'Hertz', 'Ohio', '11850'),
(5, 'Lena', 'Silva', 'Texas', '19078'),
(6, 'Eva', 'Zander', 'Utah', '40499'),
(7, 'Wim', 'Brandt', 'Texas', '63316'),
(8, 'Tess', 'Olsen', 'Ohio', '53113'),
(9, 'Rosa', 'Petit', 'Ohio', '95041'),
(10, 'Lena', 'Abel', 'Utah', '21595'),
(11, 'Dan', 'Zander', 'Ohio', '69392'),
(12, 'Finn', 'Reuter', 'Iowa', '62604'),
(13, 'Pia', 'Egger', 'Utah', '97177'),
(14, 'Ben', 'Petit', 'Utah', '19781'),
(15, 'Yara', 'Grau', 'Utah', '98315');
CREATE TABLE dogs (dog_id INTEGER, owner_id INTEGER, abandoned_yn INTEGER, breed_code TEXT, size_code TEXT, name TEXT, age INTEGER, weight REAL);
INSERT INTO dogs VALUES
(1, 13, 0, 'ESK', 'LGE', 'Pia', 9, 49.7),
(2, 4, 1, 'ESK', 'LGE', 'Nora', 5, 47.3),
(3, 8, 1, 'HUS', 'MED', 'Milo', 5, 12.7),
(4, 14, 0, 'ESK', 'LGE', 'Wim', 8, 10.2),
(5, 8, 0, 'BUL', 'LGE', 'Xena', 9, 32.7),
(6, 10, 1, 'BUL', 'LGE', 'Dan', 3, 78.5),
(7, 3, 1, 'HUS', 'MED', 'Yara', 5, 35.1),
(8, 2, 0, 'ESK', 'SML', 'Yara', 7, 48.3),
(9, 3, 0, 'BUL', 'LGE', 'Vera', 4, 51.6),
(10, 15, 0, 'BUL', 'LGE', 'Ada', 6, 60.2),
(11, 9, 1, 'BUL', 'SML', 'Hana', 3, 67.5),
(12, 2, 1, 'HUS', 'LGE', 'Pia', 1, 39.4),
(13, 1, 1, 'BUL', 'MED', 'Ben', 7, 35.4),
(14, 3, 1, 'ESK', 'MED', 'Udo', 3, 25.4),
(15, 12, 1, 'ESK', 'MED', 'Eva', 9, 84.6);
CREATE TABLE vets (vet_id INTEGER, role_code TEXT, first_name TEXT, city TEXT);
INSERT INTO vets VALUES
(1, 'Employee', 'Ada', 'Kiel'),
(2, 'Employee', 'Zoe', 'Kiel'),
(3, 'Employee', 'Tess', 'Ulm'),
(4, 'Employee', 'Sven', 'Ulm'),
(5, 'Employee', 'Eva', 'Ulm'),
(6, 'Veterinarian', 'Yara', 'Kiel'),
(7, 'Employee', 'Vera', 'Kiel'),
(8, 'Veterinarian', 'Ivo', 'Ulm'),
(9, 'Veterinarian', 'Sven', 'Ulm'),
(10, 'Employee', 'Vera', 'Ulm'),
(11, 'Veterinarian', 'Eva', 'Kiel'),
(12, 'Veterinarian', 'Milo', 'Kiel'),
(13, 'Veterinarian', 'Ada', 'Ulm'),
(14, 'Veterinarian', 'Cleo', 'Kiel'),
(15, 'Employee', 'Eva', 'Ulm');
CREATE TABLE treatment_types (type_code TEXT, type_description TEXT);
INSERT INTO treatment_types VALUES
('WALK', 'Take for a walk'),
('VAC', 'Vaccination'),
('EXAM', 'Physical exam');
CREATE TABLE treatments (treatment_id INTEGER, dog_id INTEGER, vet INTEGER, type_code TEXT, date_of TEXT, cost REAL);
INSERT INTO treatments VALUES
(1, 9, 9, 'VAC', '2018-04-20', 270),
(2, 3, 6, 'VAC', '2018-12-24', 663),
(3, 13, 4, 'EXAM', '2018-01-13', 575),
(4, 14, 5, 'VAC', '2018-12-08', 358),
(5, 12, 13, 'VAC', '2018-04-13', 259),
(6, 5, 8, 'EXAM', '2018-10-04', 658),
(7, 10, 4, 'EXAM', '2018-09-10', 398),
(8, 12, 13, 'EXAM', '2018-02-20', 433),
(9, 4, 9, 'WALK', '2018-11-14', 210),
(10, 14, 5, 'EXAM', '2018-11-27', 878),
(11, 8, 12, 'EXAM', '2018-11-21', 822),
(12, 8, 11, 'EXAM', '2018-07-03', 330),
(13, 1, 4, 'EXAM', '2018-01-08', 382),
(14, 12, 13, 'VAC', '2018-08-26', 342),
(15, 7, 10, 'VAC', '2018-04-21', 770);
