-- Films: text titles as references, stars, studios, remakes, few rows.
-- link: person.home_country -> country.code
-- link: film.studio -> studio.name
-- link: film.director -> person.name
-- link: film.remake_of -> film.title
-- link: cast_in.film -> film.title
-- link: cast_in.actor -> person.name
-- link: award.film -> film.title
-- link: award.winner -> person.name
CREATE TABLE studio (name TEXT, city TEXT, founded INTEGER);
INSERT INTO studio VALUES
('Arc', 'Rome', 1946),
('Bolt', 'Cairo', 1989),
('Crown', 'Rome', 1936),
('Dune', 'Cairo', 1925);
CREATE TABLE person (name TEXT, born INTEGER, home_country TEXT);
INSERT INTO person VALUES
('Ada Vogt', 1986, 'IT'),
('Ada Xu', 1942, 'US'),
('Eva Grau', 1954, 'IT'),
('Finn Unger', 1968, 'US'),
('Gus Brandt', 1939, 'FR'),
('Hana Egger', 1936, 'FR'),
('Jana Reuter', 1938, 'US'),
('Karl Kranz', 1965, 'US'),
('Lena Hertz', 1979, 'FR'),
('Nora Hertz', 1933, 'IT'),
('Nora Weber', 1943, 'IT'),
('Otto Thiel', 1968, 'FR'),
('Quinn Brandt', 1984, 'US'),
('Rosa Diaz', 1950, 'FR'),
('Sven Abel', 1956, 'FR'),
('Tess Petit', 1990, 'IT'),
('Tess Quast', 1975, 'IT'),
('Udo Abel', 1967, 'FR'),
('Vera Nagel', 1932, 'IT'),
('Vera Reuter', 1936, 'US'),
('Wim Grau', 1945, 'FR'),
('Xena Nagel', 1938, 'US'),
('Xena Vogt', 1947, 'IT'),
('Yara Maier', 1986, 'US'),
('Zoe Weber', 1979, 'US');
CREATE TABLE country (code TEXT, label TEXT);
INSERT INTO country VALUES
('FR', 'France'),
('IT', 'Italy'),
('US', 'United States'),
('ES', 'Spain');
CREATE TABLE film (title TEXT, made INTEGER, studio TEXT, director TEXT, remake_of TEXT, minutes INTEGER);
INSERT INTO film VALUES
('The Weber Affair', 1951, 'Arc', 'Vera Reuter', NULL, 168),
('The Nagel Road', 2010, 'Arc', 'Vera Nagel', NULL, 103),
('The Lopez House', 1954, 'Arc', 'Rosa Diaz', NULL, 86),
('The Quast Night', 1987, 'Dune', 'Hana Egger', NULL, 88),
('The Petit Storm', 1987, 'Bolt', 'Finn Unger', NULL, 88),
('The Thiel Letter', 1954, 'Arc', 'Xena Nagel', NULL, 134),
('The Maier Clock', 2019, 'Arc', 'Lena Hertz', NULL, 142),
('The Weber River', 1991, 'Dune', 'Ada Vogt', 'The Nagel Road', 136),
('The Brandt Song', 1980, 'Crown', 'Karl Kranz', 'The Quast Night', 131),
('The Brandt Wall', 1990, 'Arc', 'Tess Quast', NULL, 88),
('The Egger Game', 1969, 'Arc', 'Ada Vogt', 'The Nagel Road', 121),
('The Silva Stone', 1958, 'Bolt', 'Lena Hertz', 'The Quast Night', 107);
CREATE TABLE cast_in (film TEXT, actor TEXT, part TEXT, billing INTEGER);
INSERT INTO cast_in VALUES
('The Egger Game', 'Tess Petit', 'part 0', 2),
('The Weber Affair', 'Tess Quast', 'part 1', 1),
('The Nagel Road', 'Ada Vogt', 'part 2', 2),
('The Quast Night', 'Zoe Weber', 'part 3', 1),
('The Lopez House', 'Udo Abel', 'part 4', 2),
('The Weber Affair', 'Vera Reuter', 'part 5', 5),
('The Lopez House', 'Hana Egger', 'part 6', 5),
('The Weber Affair', 'Ada Xu', 'part 7', 4),
('The Weber River', 'Udo Abel', 'part 8', 1),
('The Maier Clock', 'Yara Maier', 'part 9', 2),
('The Thiel Letter', 'Hana Egger', 'part 10', 2),
('The Weber Affair', 'Udo Abel', 'part 11', 1),
('The Petit Storm', 'Lena Hertz', 'part 12', 4),
('The Quast Night', 'Xena Nagel', 'part 13', 5),
('The Weber River', 'Vera Nagel', 'part 14', 4),
('The Thiel Letter', 'Lena Hertz', 'part 15', 3),
('The Egger Game', 'Nora Hertz', 'part 16', 5),
('The Weber River', 'Ada Xu', 'part 17', 3),
('The Maier Clock', 'Ada Xu', 'part 18', 1),
('The Brandt Wall', 'Nora Hertz', 'part 19', 2),
('The Brandt Wall', 'Nora Hertz', 'part 20', 2),
('The Quast Night', 'Vera Nagel', 'part 21', 3),
('The Brandt Song', 'Xena Vogt', 'part 22', 4),
('The Silva Stone', 'Vera Reuter', 'part 23', 1),
('The Brandt Wall', 'Xena Vogt', 'part 24', 3),
('The Quast Night', 'Sven Abel', 'part 25', 3),
('The Nagel Road', 'Ada Vogt', 'part 26', 5),
('The Nagel Road', 'Ada Vogt', 'part 27', 1),
('The Silva Stone', 'Xena Nagel', 'part 28', 5),
('The Brandt Wall', 'Eva Grau', 'part 29', 2),
('The Maier Clock', 'Xena Nagel', 'part 30', 1),
('The Silva Stone', 'Xena Vogt', 'part 31', 3),
('The Nagel Road', 'Tess Petit', 'part 32', 4),
('The Weber River', 'Zoe Weber', 'part 33', 2),
('The Maier Clock', 'Lena Hertz', 'part 34', 5),
('The Petit Storm', 'Zoe Weber', 'part 35', 1),
('The Egger Game', 'Tess Petit', 'part 36', 1),
('The Thiel Letter', 'Sven Abel', 'part 37', 2),
('The Petit Storm', 'Gus Brandt', 'part 38', 1),
('The Petit Storm', 'Zoe Weber', 'part 39', 5);
CREATE TABLE award (award_no INTEGER, film TEXT, winner TEXT, year INTEGER);
INSERT INTO award VALUES
(1, 'The Quast Night', 'Yara Maier', 2002),
(2, 'The Brandt Wall', 'Otto Thiel', 1968),
(3, 'The Weber River', 'Ada Xu', 1997),
(4, 'The Brandt Wall', 'Sven Abel', 1966),
(5, 'The Weber River', 'Tess Petit', 1979),
(6, 'The Quast Night', 'Xena Vogt', 2013),
(7, 'The Weber River', 'Yara Maier', 1988),
(8, 'The Weber River', 'Jana Reuter', 1970),
(9, 'The Nagel Road', 'Lena Hertz', 1964),
(10, 'The Brandt Wall', 'Karl Kranz', 1996),
(11, 'The Silva Stone', 'Xena Nagel', 2011),
(12, 'The Quast Night', 'Zoe Weber', 1962),
(13, 'The Nagel Road', 'Lena Hertz', 2009),
(14, 'The Egger Game', 'Wim Grau', 1975);
