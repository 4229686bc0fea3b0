-- Ferries in Norwegian: harbours from and to, ships, captains, replacements.
-- link: havn.fylke -> fylke.nr
-- link: mannskap.overordnet -> mannskap.ansattnr
-- link: mannskap.bosted -> havn.kode
-- link: skip.erstatter -> skip.kjenningsbokstaver
-- link: rute.fra -> havn.kode
-- link: rute.til -> havn.kode
-- link: avgang.rute -> rute.rutenr
-- link: avgang.skip -> skip.kjenningsbokstaver
-- link: avgang.kaptein -> mannskap.ansattnr
CREATE TABLE havn (kode TEXT, navn TEXT, fylke INTEGER);
INSERT INTO havn VALUES
('BGO', 'havn bgo', 3),
('SVG', 'havn svg', 1),
('TRD', 'havn trd', 1),
('BOO', 'havn boo', 3),
('TOS', 'havn tos', 4),
('HAU', 'havn hau', 4),
('AES', 'havn aes', 3),
('MOL', 'havn mol', 2);
CREATE TABLE fylke (nr INTEGER, navn TEXT);
INSERT INTO fylke VALUES
(1, 'Vestland'),
(2, 'Rogaland'),
(3, 'Troms'),
(4, 'Nordland');
CREATE TABLE mannskap (ansattnr INTEGER, navn TEXT, overordnet INTEGER, bosted TEXT);
INSERT INTO mannskap VALUES
(1, 'Xena Grau', NULL, 'TOS'),
(2, 'Otto Abel', 1, 'MOL'),
(3, 'Ada Diaz', 1, 'MOL'),
(4, 'Nora Abel', 1, 'HAU'),
(5, 'Yara Brandt', 1, 'BGO'),
(6, 'Sven Lopez', 1, 'BOO'),
(7, 'Xena Lopez', 3, 'HAU'),
(8, 'Sven Jung', 3, 'HAU'),
(9, 'Sven Costa', 4, 'TRD'),
(10, 'Wim Petit', 4, 'TRD'),
(11, 'Finn Zander', 2, 'HAU'),
(12, 'Vera Quast', 2, 'SVG'),
(13, 'Cleo Diaz', 4, 'BGO'),
(14, 'Sven Imhof', 5, 'TOS'),
(15, 'Sven Kranz', 1, 'HAU'),
(16, 'Jana Reuter', 3, 'MOL'),
(17, 'Rosa Grau', 5, 'TRD');
CREATE TABLE skip (kjenningsbokstaver TEXT, navn TEXT, byggeaar INTEGER, erstatter TEXT);
INSERT INTO skip VALUES
('LABC', 'MS Abel', 1976, NULL),
('LADF', 'MS Brandt', 2009, 'LABC'),
('LKQS', 'MS Costa', 2020, NULL),
('LMNV', 'MS Diaz', 1977, 'LADF'),
('LXYZ', 'MS Egger', 2015, 'LKQS'),
('LZZT', 'MS Falk', 2020, NULL);
CREATE TABLE rute (rutenr INTEGER, fra TEXT, til TEXT, minutter INTEGER);
INSERT INTO rute VALUES
(10, 'MOL', 'SVG', 188),
(11, 'TRD', 'HAU', 71),
(12, 'AES', 'SVG', 250),
(13, 'BGO', 'MOL', 233),
(14, 'AES', 'BGO', 103),
(15, 'BOO', 'HAU', 26),
(16, 'BOO', 'AES', 49),
(17, 'MOL', 'HAU', 67),
(18, 'HAU', 'BGO', 213);
CREATE TABLE avgang (avgangnr INTEGER, rute INTEGER, skip TEXT, kaptein INTEGER, dato TEXT, passasjerer INTEGER);
INSERT INTO avgang VALUES
(1, 17, 'LADF', 2, '2022-05-15', 283),
(2, 13, 'LMNV', 10, '2022-02-04', 287),
(3, 18, 'LZZT', 6, '2022-05-04', 218),
(4, 12, 'LABC', 15, '2022-11-14', 87),
(5, 16, 'LABC', 8, '2022-07-14', 156),
(6, 18, 'LXYZ', 2, '2022-02-01', 326),
(7, 12, 'LKQS', 14, '2022-03-22', 43),
(8, 15, 'LXYZ', 4, '2022-09-16', 233),
(9, 14, 'LABC', 11, '2022-01-26', 75),
(10, 16, 'LADF', 1, '2022-11-15', 384),
(11, 16, 'LABC', 14, '2022-08-20', 355),
(12, 18, 'LZZT', 6, '2022-05-03', 118),
(13, 10, 'LMNV', 13, '2022-11-15', 312),
(14, 16, 'LKQS', 11, '2022-06-26', 157),
(15, 14, 'LKQS', 6, '2022-01-14', 344),
(16, 17, 'LXYZ', 9, '2022-12-03', 199),
(17, 13, 'LKQS', 5, '2022-02-20', 239),
(18, 11, 'LKQS', 15, '2022-01-09', 59),
(19, 13, 'LXYZ', 16, '2022-07-26', 43),
(20, 14, 'LADF', 12, '2022-10-27', 49),
(21, 12, 'LZZT', 17, '2022-10-22', 187),
(22, 14, 'LABC', 6, '2022-02-24', 96),
(23, 10, 'LADF', 5, '2022-08-23', 154),
(24, 10, 'LABC', 4, '2022-01-05', 182),
(25, 11, 'LADF', 7, '2022-07-11', 390),
(26, 13, 'LXYZ', 14, '2022-09-21', 115),
(27, 18, 'LZZT', 10, '2022-11-21', 69),
(28, 15, 'LMNV', 10, '2022-08-13', 182),
(29, 13, 'LZZT', 6, '2022-06-14', 219),
(30, 10, 'LABC', 11, '2022-08-27', 85),
(31, 16, 'LKQS', 8, '2022-01-22', 154),
(32, 17, 'LADF', 13, '2022-10-16', 11),
(33, 18, 'LXYZ', 14, '2022-08-07', 341),
(34, 16, 'LABC', 15, '2022-07-21', 198),
(35, 14, 'LABC', 2, '2022-07-12', 382),
(36, 14, 'LZZT', 6, '2022-10-03', 387),
(37, 18, 'LMNV', 4, '2022-07-16', 354),
(38, 12, 'LZZT', 10, '2022-10-01', 387),
(39, 18, 'LXYZ', 7, '2022-06-26', 162),
(40, 14, 'LZZT', 10, '2022-08-18', 280),
(41, 14, 'LKQS', 1, '2022-11-19', 290),
(42, 12, 'LABC', 5, '2022-12-10', 131),
(43, 11, 'LXYZ', 3, '2022-01-24', 247),
(44, 10, 'LXYZ', 9, '2022-09-19', 218),
(45, 10, 'LADF', 3, '2022-03-27', 114),
(46, 17, 'LABC', 5, '2022-01-20', 200),
(47, 10, 'LXYZ', 14, '2022-11-01', 74),
(48, 12, 'LABC', 12, '2022-01-28', 257),
(49, 11, 'LMNV', 11, '2022-11-23', 316),
(50, 10, 'LADF', 7, '2022-02-05', 83),
(51, 12, 'LXYZ', 4, '2022-09-07', 90),
(52, 18, 'LZZT', 7, '2022-05-22', 310),
(53, 11, 'LXYZ', 5, '2022-09-14', 186),
(54, 11, 'LADF', 17, '2022-06-25', 53),
(55, 13, 'LADF', 12, '2022-08-07', 84),
(56, 18, 'LXYZ', 8, '2022-01-19', 306),
(57, 11, 'LADF', 5, '2022-09-12', 329),
(58, 10, 'LABC', 15, '2022-03-09', 181),
(59, 13, 'LMNV', 11, '2022-02-26', 222),
(60, 17, 'LABC', 13, '2022-07-21', 378),
(61, 10, 'LADF', 3, '2022-01-28', 171),
(62, 12, 'LABC', 11, '2022-11-23', 76),
(63, 16, 'LKQS', 5, '2022-09-18', 308),
(64, 18, 'LMNV', 6, '2022-07-24', 176);
