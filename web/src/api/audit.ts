// The audit log of the tenant, for its admins.

import type { AuditPage } from "../wire.generated";
import { requestJson } from "./http";

export function listAudit(cursor: string | null): Promise<AuditPage> {
  const after = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
  return requestJson<AuditPage>(`/api/audit${after}`);
}
