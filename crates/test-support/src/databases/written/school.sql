-- A school, tiny: upper-case key columns, likes among pupils, a club president.
-- link: Pupil.Tutor -> Faculty.FacID
-- link: Pupil.city_code -> City.city_code
-- link: Distance.city1_code -> City.city_code
-- link: Distance.city2_code -> City.city_code
-- link: Club.President -> Pupil.PupID
-- link: Member_of.PupID -> Pupil.PupID
-- link: Member_of.ClubID -> Club.ClubID
-- link: Likes.WhoLikes -> Pupil.PupID
-- link: Likes.WhoIsLiked -> Pupil.PupID
-- link: Course.Instructor -> Faculty.FacID
-- link: Enrolled_in.PupID -> Pupil.PupID
-- link: Enrolled_in.CID -> Course.CID
-- link: Enrolled_in.Mark -> Markconversion.lettermark
CREATE TABLE Pupil (PupID INTEGER, LName TEXT, Fname TEXT, Grade INTEGER, Tutor INTEGER, city_code TEXT);
INSERT INTO Pupil VALUES
(1001, 'Hertz', 'Lena', 12, 12, 'LON'),
(1002, 'Weber', 'Ben', 9, 12, 'LON'),
(1003, 'Zander', 'Quinn', 10, 14, 'NYC'),
(1004, 'Olsen', 'Pia', 12, 14, 'BER'),
(1005, 'Silva', 'Gus', 12, 11, 'BER'),
(1006, 'Hertz', 'Yara', 9, 16, 'PAR'),
(1007, 'Quast', 'Nora', 12, 14, 'NYC'),
(1008, 'Vogt', 'Ivo', 9, 17, 'NYC'),
(1009, 'Maier', 'Tess', 12, 11, 'NYC'),
(1010, 'Kranz', 'Hana', 9, 14, 'LON'),
(1011, 'Silva', 'Zoe', 10, 15, 'NYC'),
(1012, 'Reuter', 'Ben', 12, 16, 'LON'),
(1013, 'Egger', 'Sven', 12, 16, 'BER'),
(1014, 'Jung', 'Rosa', 11, 17, 'BER'),
(1015, 'Egger', 'Finn', 9, 15, 'PAR'),
(1016, 'Weber', 'Lena', 12, 15, 'LON'),
(1017, 'Jung', 'Eva', 11, 15, 'PAR'),
(1018, 'Quast', 'Vera', 9, 17, 'LON'),
(1019, 'Lopez', 'Hana', 9, 13, 'PAR');
CREATE TABLE Faculty (FacID INTEGER, Name TEXT, Room TEXT);
INSERT INTO Faculty VALUES
(11, 'Hana Imhof', 'R101'),
(12, 'Nora Imhof', 'R112'),
(13, 'Jana Weber', 'R128'),
(14, 'Nora Falk', 'R121'),
(15, 'Milo Diaz', 'R105'),
(16, 'Vera Abel', 'R106'),
(17, 'Yara Falk', 'R109');
CREATE TABLE City (city_code TEXT, city_name TEXT, country TEXT);
INSERT INTO City VALUES
('NYC', 'New York', 'US'),
('LON', 'London', 'GB'),
('PAR', 'Paris', 'FR'),
('BER', 'Berlin', 'DE'),
('ROM', 'Rome', 'IT');
CREATE TABLE Distance (city1_code TEXT, city2_code TEXT, km INTEGER);
INSERT INTO Distance VALUES
('NYC', 'PAR', 2208),
('NYC', 'ROM', 516),
('LON', 'NYC', 6533),
('LON', 'PAR', 5900),
('LON', 'ROM', 3087),
('PAR', 'ROM', 7436),
('BER', 'NYC', 4096),
('BER', 'LON', 2578),
('BER', 'PAR', 7019),
('BER', 'ROM', 7608);
CREATE TABLE Club (ClubID INTEGER, ClubName TEXT, President INTEGER);
INSERT INTO Club VALUES
(1, 'Chess', 1014),
(2, 'Choir', 1014),
(3, 'Robots', 1003),
(4, 'Hiking', 1019);
CREATE TABLE Member_of (PupID INTEGER, ClubID INTEGER, Position TEXT);
INSERT INTO Member_of VALUES
(1003, 3, 'Member'),
(1002, 1, 'Member'),
(1017, 3, 'Member'),
(1017, 4, 'Member'),
(1003, 2, 'Member'),
(1005, 3, 'Clerk'),
(1019, 1, 'Clerk'),
(1012, 3, 'Clerk'),
(1001, 4, 'Member'),
(1002, 1, 'Member'),
(1006, 3, 'Clerk'),
(1015, 1, 'Member'),
(1007, 2, 'Clerk'),
(1016, 2, 'Clerk'),
(1004, 1, 'Clerk');
CREATE TABLE Likes (WhoLikes INTEGER, WhoIsLiked INTEGER);
INSERT INTO Likes VALUES
(1017, 1008),
(1007, 1001),
(1008, 1002),
(1016, 1013),
(1007, 1002),
(1012, 1014),
(1013, 1017),
(1017, 1007),
(1017, 1003),
(1011, 1017),
(1015, 1004),
(1010, 1019),
(1004, 1007),
(1005, 1015),
(1001, 1019),
(1012, 1015);
CREATE TABLE Course (CID TEXT, CName TEXT, Instructor INTEGER, Credits INTEGER);
INSERT INTO Course VALUES
('600.100', 'Course Abel', 11, 3),
('600.111', 'Course Brandt', 14, 2),
('600.122', 'Course Costa', 16, 3),
('600.133', 'Course Diaz', 11, 4),
('600.144', 'Course Egger', 16, 3),
('600.155', 'Course Falk', 17, 3),
('600.166', 'Course Grau', 15, 3),
('600.177', 'Course Hertz', 16, 3),
('600.188', 'Course Imhof', 17, 3);
CREATE TABLE Enrolled_in (PupID INTEGER, CID TEXT, Mark TEXT);
INSERT INTO Enrolled_in VALUES
(1004, '600.133', 'D'),
(1012, '600.166', 'C'),
(1007, '600.144', 'D'),
(1013, '600.188', 'C'),
(1019, '600.155', 'D'),
(1007, '600.177', 'A'),
(1009, '600.122', 'A'),
(1016, '600.144', 'D'),
(1004, '600.144', 'C'),
(1009, '600.188', 'C'),
(1009, '600.166', 'B'),
(1012, '600.133', 'B'),
(1017, '600.177', 'B'),
(1008, '600.188', 'B'),
(1012, '600.177', 'A'),
(1004, '600.166', 'A'),
(1006, '600.166', 'A'),
(1005, '600.100', 'B'),
(1009, '600.111', 'A'),
(1015, '600.177', 'C'),
(1019, '600.111', 'B'),
(1012, '600.111', 'C'),
(1002, '600.111', 'B'),
(1012, '600.111', 'B'),
(1002, '600.155', 'B'),
(1010, '600.155', 'C'),
(1003, '600.188', 'A'),
(1012, '600.166', 'B'),
(1006, '600.144', 'D'),
(1005, '600.166', 'A'),
(1004, '600.188', 'B');
CREATE TABLE Markconversion (lettermark TEXT, points REAL);
INSERT INTO Markconversion VALUES
('A', 4.0),
('B', 3.0),
('C', 2.0),
('D', 1.0),
('F', 0.0);
