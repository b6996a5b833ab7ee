import { type ReactNode, useState } from "react";
import type { SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { HIDDEN } from "../exchanges/hide.js";
import { agentWords } from "../texts/agents.js";
import { Button, css as ui } from "../ui/parts.js";
import { type Field, FieldsForm } from "./fields-form.js";
import { logins, type SchemeLogin } from "./logins.js";

/** A security scheme of a card, and the credential that the user entered for it. */
export interface SchemeProps {
  readonly agent: string;
  /** Its name in the card. */
  readonly name: string;
  readonly scheme: SecurityScheme;
  readonly login: SchemeLogin | undefined;
}

/** Keeps or forgets the credential of one scheme. */
export function keepScheme(agent: string, name: string, given: SchemeLogin | undefined): void {
  const login = logins.get(agent);
  const { [name]: _before, ...others } = login.schemes;
  logins.set(agent, { ...login, schemes: given === undefined ? others : { ...others, [name]: given } });
}

/** Takes a token that a person already has. */
export function OwnToken(props: SchemeProps & { readonly about: string }): ReactNode {
  const fields = [{ name: "token", label: agentWords.login.token, isSecret: true, isRequired: true }];
  return <Secret {...props} fields={fields} read={({ token = "" }) => ({ kind: "bearer", token })} />;
}

interface SecretProps extends SchemeProps {
  readonly about: string;
  readonly fields: readonly Field[];
  readonly read: (values: Readonly<Record<string, string>>) => SchemeLogin;
}

/** The form of a secret, or the kept secret without its text. */
export function Secret({ agent, name, login, about, fields, read }: SecretProps): ReactNode {
  const [isEdited, setEdited] = useState(false);
  const { login: texts } = agentWords;
  if (login !== undefined && !isEdited) {
    return (
      <div className={ui.row}>
        <span className={ui.mono}>{login.kind === "basic" ? `${login.user} ${HIDDEN}` : HIDDEN}</span>
        <Button onClick={() => setEdited(true)}>{texts.edit}</Button>
        <Button kind="plain" onClick={() => keepScheme(agent, name, undefined)}>
          {agentWords.agent.forget}
        </Button>
      </div>
    );
  }
  return (
    <>
      <p className={`${ui.soft} ${ui.small}`}>{about}</p>
      <FieldsForm
        fields={fields}
        action={texts.save}
        onSubmit={(values) => {
          keepScheme(agent, name, read(values));
          setEdited(false);
        }}
      />
    </>
  );
}
