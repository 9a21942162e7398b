// The sign-in screen, where the service needs to know the person: a button for each identity provider, and a field for an API
// key. The page sends the key once and keeps it nowhere: the field has no
// name and no state, so no address, history entry or restored form can contain the key.

import { useEffect, useRef, useState, type FormEvent, type RefObject } from "react";
import { Refusal, wordsFor } from "../api/http";
import { en } from "../en";
import { page, signIn } from "../state/page";
import { useStore } from "../state/store";
import { Logo } from "./Logo";
import { ProviderButtons } from "./ProviderButtons";

/** `ended`: the session of this page is over. */
export function SignIn({ ended }: { ended: boolean }) {
  const field = useRef<HTMLInputElement>(null);
  const { ways, notSignedIn } = useStore(page);
  const { problem, busy, submit } = useSigningIn(field);
  const needed = ways.length > 0 ? en.signIn.choose : en.signIn.needed;
  useEffect(() => {
    const before = document.title;
    document.title = en.signIn.windowTitle;
    field.current?.focus();
    return () => {
      document.title = before;
    };
  }, []);

  return (
    <main className="unavailable" data-testid="sign-in">
      <Logo className="logo empty-logo" />
      <h1>{en.signIn.title}</h1>
      <p id="sign-in-why">
        {ended ? en.signIn.ended : needed}
      </p>
      {ways.length > 0 && (
        <>
          <div className="sign-in">
            <ProviderButtons ways={ways} className="primary-button" problem={notSignedIn} />
          </div>
          <p>{en.signIn.or}</p>
        </>
      )}
      <form className="sign-in" onSubmit={(event) => void submit(event)}>
        <label htmlFor="sign-in-key">{en.signIn.key}</label>
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
          {busy ? en.signIn.busy : en.signIn.submit}
        </button>
      </form>
    </main>
  );
}

function useSigningIn(field: RefObject<HTMLInputElement | null>) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const refuse = (words: string) => {
    setProblem(words);
    field.current?.focus();
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (busy) return;
    if (key === "") {
      refuse(en.signIn.blank);
      return;
    }
    setBusy(true);
    setProblem("");
    try {
      await signIn(key);
    } catch (error) {
      refuse(error instanceof Refusal && error.status === 401 ? en.signIn.wrong : wordsFor(error));
    } finally {
      setBusy(false);
    }
  };
  return { problem, busy, submit };
}
