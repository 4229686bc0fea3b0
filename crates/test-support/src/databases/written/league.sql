-- A football league: tiny tables, roles without key words, people in several parts.
-- link: club.ground -> ground.gid
-- link: player.club -> club.cid
-- link: fixture.home -> club.cid
-- link: fixture.away -> club.cid
-- link: fixture.venue -> ground.gid
-- link: fixture.referee -> ref.rid
-- link: goal.fid -> fixture.fid
-- link: goal.scorer -> player.pid
-- link: goal.assist -> player.pid
-- link: transfer.pid -> player.pid
-- link: transfer.from_club -> club.cid
-- link: transfer.to_club -> club.cid
CREATE TABLE ground (gid INTEGER, town TEXT, seats INTEGER);
INSERT INTO ground VALUES
(1, 'Arles', 8000),
(2, 'Bern', 22000),
(3, 'Celle', 29000),
(4, 'Delft', 28000),
(5, 'Esch', 6000);
CREATE TABLE club (cid INTEGER, name TEXT, ground INTEGER, founded INTEGER);
INSERT INTO club VALUES
(1, 'Comets', 3, 1905),
(2, 'Rovers', 4, 1987),
(3, 'Lions', 4, 1950),
(4, 'United', 4, 1990),
(5, 'Athletic', 2, 1902),
(6, 'Swifts', 4, 1893);
CREATE TABLE player (pid INTEGER, name TEXT, club INTEGER, shirt INTEGER, born INTEGER);
INSERT INTO player VALUES
(1, 'Milo Nagel', 5, 1, 1999),
(2, 'Ivo Xu', 2, 19, 1988),
(3, 'Karl Abel', 1, 1, 2002),
(4, 'Ada Maier', 6, 7, 1998),
(5, 'Xena Abel', 5, 8, 1999),
(6, 'Pia Reuter', 2, 12, 1992),
(7, 'Vera Hertz', 4, 10, 1985),
(8, 'Nora Reuter', 6, 4, 1990),
(9, 'Udo Xu', 3, 4, 1995),
(10, 'Xena Weber', 5, 14, 2001),
(11, 'Vera Grau', 3, 10, 2003),
(12, 'Pia Quast', 4, 19, 1986),
(13, 'Pia Hertz', 6, 13, 1998),
(14, 'Vera Falk', 3, 18, 1996),
(15, 'Cleo Olsen', 6, 17, 1988),
(16, 'Yara Falk', 5, 13, 1996),
(17, 'Pia Xu', 1, 16, 1986),
(18, 'Jana Weber', 5, 19, 2003),
(19, 'Milo Unger', 2, 6, 2001),
(20, 'Hana Abel', 2, 18, 2002),
(21, 'Hana Maier', 5, 12, 2003),
(22, 'Lena Olsen', 3, 22, 2002),
(23, 'Tess Xu', 1, 13, 2001),
(24, 'Zoe Egger', 5, 18, 1991),
(25, 'Nora Brandt', 4, 12, 2003),
(26, 'Rosa Grau', 5, 14, 2000),
(27, 'Lena Nagel', 3, 1, 2002),
(28, 'Rosa Thiel', 5, 11, 1999);
CREATE TABLE ref (rid INTEGER, name TEXT);
INSERT INTO ref VALUES
(1, 'Tess Abel'),
(2, 'Zoe Hertz'),
(3, 'Udo Falk'),
(4, 'Rosa Silva');
CREATE TABLE fixture (fid INTEGER, played TEXT, home INTEGER, away INTEGER, venue INTEGER, referee INTEGER, home_goals INTEGER, away_goals INTEGER);
INSERT INTO fixture VALUES
(1, '2023-01-27', 2, 1, 1, 1, 0, 3),
(2, '2023-05-04', 1, 4, 5, 2, 2, 2),
(3, '2023-05-17', 1, 3, 2, 3, 2, 3),
(4, '2023-08-04', 6, 3, 1, 3, 3, 2),
(5, '2023-02-09', 4, 2, 5, 2, 4, 3),
(6, '2023-07-05', 1, 3, 1, 2, 3, 3),
(7, '2023-04-17', 5, 2, 1, 4, 4, 2),
(8, '2023-12-10', 6, 4, 2, 2, 0, 2),
(9, '2023-05-24', 1, 2, 2, 4, 4, 2),
(10, '2023-10-27', 2, 1, 2, 4, 1, 0),
(11, '2023-02-07', 4, 2, 5, 4, 4, 1),
(12, '2023-05-17', 4, 1, 4, 1, 2, 3),
(13, '2023-04-28', 3, 1, 3, 2, 2, 3),
(14, '2023-07-18', 2, 4, 3, 4, 4, 1);
CREATE TABLE goal (goal_no INTEGER, fid INTEGER, scorer INTEGER, assist INTEGER, minute INTEGER);
INSERT INTO goal VALUES
(1, 2, 24, NULL, 18),
(2, 3, 6, 7, 35),
(3, 13, 11, 27, 33),
(4, 6, 11, NULL, 38),
(5, 4, 28, 25, 92),
(6, 8, 5, 25, 14),
(7, 6, 2, 13, 19),
(8, 14, 5, NULL, 79),
(9, 10, 26, 3, 74),
(10, 9, 8, 9, 47),
(11, 5, 19, 4, 59),
(12, 5, 4, 27, 38),
(13, 1, 20, 3, 53),
(14, 2, 27, 2, 25),
(15, 4, 26, 14, 21),
(16, 2, 15, NULL, 31),
(17, 3, 24, 14, 49),
(18, 13, 18, 10, 71),
(19, 5, 23, 4, 27),
(20, 11, 11, NULL, 2),
(21, 13, 10, 11, 58),
(22, 7, 11, NULL, 9),
(23, 6, 20, 4, 33),
(24, 4, 26, 18, 89),
(25, 8, 22, NULL, 24),
(26, 9, 7, NULL, 32),
(27, 6, 3, 3, 58),
(28, 2, 21, 11, 30),
(29, 7, 10, NULL, 24),
(30, 6, 26, 10, 32),
(31, 6, 4, 19, 77),
(32, 2, 8, NULL, 32),
(33, 7, 3, NULL, 10),
(34, 12, 3, NULL, 2),
(35, 5, 25, 16, 61),
(36, 14, 28, NULL, 65),
(37, 13, 26, NULL, 66),
(38, 11, 6, NULL, 20),
(39, 3, 27, 10, 14),
(40, 12, 17, 20, 38);
CREATE TABLE transfer (pid INTEGER, from_club INTEGER, to_club INTEGER, fee REAL, season INTEGER);
INSERT INTO transfer VALUES
(5, 2, 6, 7.0, 2019),
(25, 3, 5, 8.7, 2023),
(27, 6, 2, 2.3, 2021),
(14, 5, 2, 0.7, 2020),
(9, 1, 4, 5.6, 2023),
(9, 5, 4, 6.9, 2022),
(1, 4, 3, 2.2, 2021),
(16, 1, 4, 7.4, 2019),
(2, 6, 3, 7.5, 2020),
(19, 2, 6, 3.4, 2021),
(13, 5, 4, 2.3, 2023),
(3, 2, 4, 0.1, 2020);
