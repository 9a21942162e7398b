// The audit log of the tenant, as an admin reads it.

import { listAudit } from "../api/audit";
import type { AuditEntry } from "../wire.generated";
import { Paged } from "./paged";

export const audit = new Paged<AuditEntry>(async (cursor) => {
  const { entries, next_cursor } = await listAudit(cursor);
  return { items: entries, next_cursor };
});
