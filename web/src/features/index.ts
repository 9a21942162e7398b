// The composition: the only file that names the features of the page. To remove a feature, delete its folder and its
// two lines here (`scripts/without-page` tries it).

import { compose } from "../feature";
import { agents } from "./agents";
import { bookmarks } from "./bookmarks";
import { collections } from "./collections";
import { files } from "./files";
import { memory } from "./memory";
import { plans } from "./plans";
import { projects } from "./projects";
import { shares } from "./shares";
import { workflows } from "./workflows";

compose([
  files,
  agents,
  collections,
  projects,
  shares,
  bookmarks,
  memory,
  plans,
  workflows,
]);
