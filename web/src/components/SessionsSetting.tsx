// The browsers in which this user is signed in, each with a way to end its session. This browser's ends by signing out.

import { useEffect } from "react";
import { en } from "../en";
import { sessionWords as words } from "../settings/en";
import { end, endOthers, sessions } from "../state/sessions";
import { useStore } from "../state/store";
import { agoText } from "../turn/measures";
import { ConfirmLink } from "./Confirm";
import { Disclosure } from "./Disclosure";
import { PagedList } from "./PagedList";

export function SessionsSetting() {
  return (
    <section className="setting">
      <h3>{words.title}</h3>
      <Disclosure label={words.open}>
        <SignedIn />
      </Disclosure>
    </section>
  );
}

function SignedIn() {
  const { items } = useStore(sessions.store);
  useEffect(() => {
    sessions.forget();
    void sessions.load();
  }, []);
  const now = Date.now();
  return (
    <div className="setting-list" data-testid="sessions">
      <PagedList
        list={sessions}
        label={words.open}
        none={words.none}
        row={(session) => (
          <li key={session.id} className="row" data-testid="session">
            <div className="row-words">
              <span className="row-name" dir="auto">{session.agent || en.common.unknown}</span>
              <span className="row-more">{session.current ? words.current : words.seen(agoText(session.seen_at, now))}</span>
            </div>
            {!session.current && (
              <ConfirmLink
                label={words.end}
                question={words.endQuestion}
                testId="session-end"
                act={async () => void (await end(session))}
              />
            )}
          </li>
        )}
      />
      {items.filter(({ current }) => !current).length > 1 && (
        <ConfirmLink
          label={words.endOthers}
          question={words.endOthersQuestion}
          testId="sessions-end-others"
          act={endOthers}
        />
      )}
    </div>
  );
}
