import { line } from "../../components/Icons";

export const PeopleIcon = line("M7.5 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3 16c0-2.7 2-4.3 4.5-4.3S12 13.3 12 16M13 9.3a2.3 2.3 0 1 0-.6-4.5M14 11.9c1.9.3 3 1.8 3 4.1");
