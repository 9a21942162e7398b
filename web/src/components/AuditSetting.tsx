// The audit log of the tenant: who did what, and when. The service shows it to admins alone, and so does the page.

import { useEffect } from "react";
import { auditWords as words } from "../settings/en";
import { audit } from "../state/audit";
import { page } from "../state/page";
import { useStore } from "../state/store";
import { agoText } from "../turn/measures";
import type { AuditEntry } from "../wire.generated";
import { Disclosure } from "./Disclosure";
import { PagedList } from "./PagedList";

export function AuditSetting() {
  const { session } = useStore(page);
  if (!session?.scopes.includes("admin")) return null;
  return (
    <section className="setting">
      <h3>{words.title}</h3>
      <Disclosure label={words.open}>
        <Log />
      </Disclosure>
    </section>
  );
}

function Log() {
  useEffect(() => {
    audit.forget();
    void audit.load();
  }, []);
  const now = Date.now();
  return (
    <div className="setting-list" data-testid="audit">
      <PagedList
        list={audit}
        label={words.open}
        none={words.none}
        plain
        row={(entry) => <Entry key={entry.id} entry={entry} now={now} />}
      />
    </div>
  );
}

function Entry({ entry: { action, user_id, created_at, target, detail }, now }: { entry: AuditEntry; now: number }) {
  return (
    <li className="row" data-testid="audit-entry">
      <div className="row-words">
        <span className="row-name">{words.actions[action] ?? action}</span>
        <span className="row-more" dir="auto">
          {words.by(user_id, agoText(created_at, now))}
        </span>
        <span className="row-more" dir="auto">
          {detail ? words.about(target, detail) : target}
        </span>
      </div>
    </li>
  );
}
