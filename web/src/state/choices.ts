// All that a person can choose for single chats: the subject, and the choices of features.

import { features, type Feature } from "../feature";
import { subjects } from "./subject";

export function choices(): NonNullable<Feature["choice"]>[] {
  return [subjects, ...features().flatMap(({ choice }) => choice ?? [])];
}
