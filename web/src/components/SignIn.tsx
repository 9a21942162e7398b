// The sign-in screen, where the service needs to know the person: a button for each identity provider, and a field for an API
// key. The page sends the key once and keeps it nowhere: the field has no
// name and no state, so no address, history entry or restored form can contain the key.

import { useEffect, useRef, useState, type FormEvent, type RefObject } from "react";
import { Refusal, wordsFor } from "../api/http";
import { words } from "../signIn/en";
import { page, signIn } from "../state/page";
import { useStore } from "../state/store";
import { Logo } from "./Logo";
import { ProviderButtons } from "./ProviderButtons";

/** `ended`: the session of this page is over. */
export function SignIn({ ended }: { ended: boolean }) {
  const field = useRef<HTMLInputElement>(null);
  const { ways, notSignedIn } = useStore(page);
  const { problem, busy, submit } = useSigningIn(field);
  const needed = ways.length > 0 ? words.choose : words.needed;
  useEffect(() => {
    const before = document.title;
    document.title = words.windowTitle;
    field.current?.focus();
    return () => {
      document.title = before;
    };
  }, []);

  return (
    <main className="unavailable" data-testid="sign-in">
      <Logo className="logo empty-logo" />
      <h1>{words.title}</h1>
      <p id="sign-in-why">
        {ended ? words.ended : needed}
      </p>
      {ways.length > 0 && (
        <>
          <div className="sign-in">
            <ProviderButtons ways={ways} className="primary-button" problem={notSignedIn} />
          </div>
          <p>{words.or}</p>
        </>
      )}
      <form className="sign-in" onSubmit={(event) => void submit(event)}>
        <label htmlFor="sign-in-key">{words.key}</label>
        <input
          ref={field}
          id="sign-in-key"
          data-testid="sign-in-key"
          type="password"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          aria-invalid={problem !== ""}
          aria-describedby="sign-in-why sign-in-problem"
        />
        <p id="sign-in-problem" className="field-error" role="alert" data-testid="sign-in-problem">
          {problem}
        </p>
        <button type="submit" className="primary-button" data-testid="sign-in-submit" aria-disabled={busy}>
          {busy ? words.busy : words.submit}
        </button>
      </form>
    </main>
  );
}

function useSigningIn(field: RefObject<HTMLInputElement | null>) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const refuse = (why: string) => {
    setProblem(why);
    field.current?.focus();
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (busy) return;
    if (key === "") {
      refuse(words.blank);
      return;
    }
    setBusy(true);
    setProblem("");
    try {
      await signIn(key);
    } catch (error) {
      refuse(error instanceof Refusal && error.status === 401 ? words.wrong : wordsFor(error));
    } finally {
      setBusy(false);
    }
  };
  return { problem, busy, submit };
}
