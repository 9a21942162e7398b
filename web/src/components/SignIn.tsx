// The sign-in screen, where the service needs an API key. The page sends the key once and keeps it nowhere: the field has no
// name and no state, so no address, history entry or restored form can contain the key.

import { useEffect, useRef, useState, type FormEvent, type RefObject } from "react";
import { Refusal, wordsFor } from "../api/http";
import { signIn } from "../state/page";
import { Logo } from "./Logo";

const WRONG = "This API key is not valid. It may be mistyped, revoked or expired.";

/** `ended`: the session of this page is over. */
export function SignIn({ ended }: { ended: boolean }) {
  const field = useRef<HTMLInputElement>(null);
  const { problem, busy, submit } = useSigningIn(field);
  useEffect(() => {
    const before = document.title;
    document.title = "Sign in · Espalier";
    field.current?.focus();
    return () => {
      document.title = before;
    };
  }, []);

  return (
    <main className="unavailable" data-testid="sign-in">
      <Logo className="logo empty-logo" />
      <h1>Sign in</h1>
      <p id="sign-in-why">
        {ended
          ? "Your session is over. Sign in again to go on: your draft is kept."
          : "This service needs an API key. Its operator can give you one."}
      </p>
      <form className="sign-in" onSubmit={(event) => void submit(event)}>
        <label htmlFor="sign-in-key">API key</label>
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
          {busy ? "Signing in …" : "Sign in"}
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
      refuse("Enter an API key.");
      return;
    }
    setBusy(true);
    setProblem("");
    try {
      await signIn(key);
    } catch (error) {
      refuse(error instanceof Refusal && error.status === 401 ? WRONG : wordsFor(error));
    } finally {
      setBusy(false);
    }
  };
  return { problem, busy, submit };
}
