import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ReactNode, useEffect, useId, useState } from "react";
import { type Login, logIn, takeToken } from "../api/session.js";
import { words } from "../texts/words.js";
import { ErrorNote } from "../ui/error.js";
import { Button, css as ui } from "../ui/parts.js";
import css from "./shell.module.css";

/** Taken while the page loads, so that it leaves the address at once. */
const tokenOfLink = takeToken();
let isTried = false;

/** Asks for what begins a session, or uses the token of the link. */
export function LoginPage({ ways }: { readonly ways: readonly Login[] }): ReactNode {
  const queries = useQueryClient();
  const router = useRouter();
  const begin = useMutation({
    mutationFn: ({ how, secret }: { how: Login; secret: string }) => logIn(queries, how, secret),
    // Pages that lead elsewhere have waited for the session.
    onSuccess: () => router.invalidate(),
  });
  const { mutate } = begin;
  useEffect(() => {
    if (isTried || tokenOfLink === undefined) return;
    isTried = true;
    mutate({ how: "token", secret: tokenOfLink });
  }, [mutate]);
  return (
    <main className={css.login}>
      <div className={ui.stack}>
        <h1>{words.login.title}</h1>
        {begin.isError && <ErrorNote error={begin.error} />}
        {ways.map((how) => (
          <LoginForm key={how} how={how} isBusy={begin.isPending} onSubmit={(secret) => mutate({ how, secret })} />
        ))}
      </div>
    </main>
  );
}

interface LoginFormProps {
  readonly how: Login;
  readonly isBusy: boolean;
  readonly onSubmit: (secret: string) => void;
}

function LoginForm({ how, isBusy, onSubmit }: LoginFormProps): ReactNode {
  const [secret, setSecret] = useState("");
  const hint = useId();
  const { login } = words;
  return (
    <form
      className={`${ui.card} ${ui.stack}`}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(secret.trim());
      }}
    >
      <label className={ui.field}>
        <span>{login[how]}</span>
        <input
          className={ui.input}
          type="password"
          autoComplete="off"
          value={secret}
          aria-describedby={hint}
          onChange={(event) => setSecret(event.target.value)}
        />
      </label>
      <p id={hint} className={`${ui.soft} ${ui.small}`}>
        {how === "token" ? login.tokenHint : login.adminHint}
      </p>
      <div className={ui.row}>
        <Button kind="main" type="submit" disabled={isBusy || secret.trim() === ""}>
          {login.submit}
        </Button>
      </div>
    </form>
  );
}
