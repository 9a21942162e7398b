// A button for each identity provider. It leaves the page.

import { useState } from "react";
import { wordsFor } from "../api/http";
import { en } from "../en";
import { leaveFor } from "../state/leaving";
import { page } from "../state/page";
import type { SignInWay } from "../wire.generated";

interface Props {
  ways: readonly SignInWay[];
  className: string;
  /** Why the last sign-in failed. */
  problem: string | null;
}

export function ProviderButtons({ ways, className, problem }: Props) {
  const [refused, setRefused] = useState<string | null>(null);
  const [leaving, setLeaving] = useState(false);
  const leave = async (id: string) => {
    if (leaving) return;
    setLeaving(true);
    setRefused("");
    try {
      await leaveFor(id, page.get().session?.user_id ?? null);
    } catch (error) {
      setRefused(wordsFor(error));
    } finally {
      // The browser may come back to this page as it was left.
      setLeaving(false);
    }
  };
  return (
    <>
      {ways.map(({ id, label }) => (
        <button key={id} type="button" className={className} data-testid="sign-in-at" aria-disabled={leaving} onClick={() => void leave(id)}>
          {en.signIn.at(label)}
        </button>
      ))}
      <p className="field-error" role="alert" data-testid="sign-in-at-problem">
        {refused ?? problem}
      </p>
    </>
  );
}
