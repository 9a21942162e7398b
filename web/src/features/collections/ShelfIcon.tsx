import { line } from "../../components/Icons";

export const ShelfIcon = line("M4 4.5h3v11H4zM7 4.5h3v11H7zM11.4 5.3l2.8-.8 2.9 10.6-2.8.8z");
