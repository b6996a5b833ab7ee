import { type ReactNode, useState } from "react";
import type { SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { HIDDEN } from "../exchanges/hide.js";
import { agentWords } from "../texts/agents.js";
import { Badge, Button, Note, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import { type Field, FieldsForm } from "./fields-form.js";
import { logins, type SchemeLogin } from "./logins.js";
import { OAuthCard } from "./oauth-card.js";

/** A security scheme of a card, and what was given for it. */
export interface SchemeProps {
  readonly agent: string;
  /** Its name in the card. */
  readonly name: string;
  readonly scheme: SecurityScheme;
  readonly login: SchemeLogin | undefined;
}

/** Keeps or forgets what was given for one scheme. */
export function keepScheme(agent: string, name: string, given: SchemeLogin | undefined): void {
  const login = logins.get(agent);
  const { [name]: _before, ...others } = login.schemes;
  logins.set(agent, { ...login, schemes: given === undefined ? others : { ...others, [name]: given } });
}

/** The form of one security scheme. */
export function SchemeCard(props: SchemeProps): ReactNode {
  const { name, scheme, login } = props;
  const { description = "" } = (scheme.scheme.value ?? {}) as { description?: string };
  return (
    <section className={`${ui.card} ${css.section}`} aria-label={name.slice(0, 100)}>
      <div className={ui.row}>
        <h2>{name.slice(0, 100)}</h2>
        {login !== undefined && <Badge tone="good">{agentWords.login.kept}</Badge>}
      </div>
      {description !== "" && <p className={`${ui.soft} ${css.description}`}>{description.slice(0, 1_000)}</p>}
      <SchemeBody {...props} />
    </section>
  );
}

function SchemeBody(props: SchemeProps): ReactNode {
  const { scheme } = props.scheme;
  const { login: texts } = agentWords;
  switch (scheme.case) {
    case "oauth2SecurityScheme":
    case "openIdConnectSecurityScheme":
      return <OAuthCard {...props} />;
    case "apiKeySecurityScheme": {
      const { location, name } = scheme.value;
      if (location === "cookie") return <Note tone="wait">{texts.cookie}</Note>;
      const about = texts.keyIn(location.slice(0, 20), name.slice(0, 100));
      const fields = [{ name: "key", label: texts.key, isSecret: true, isRequired: true }];
      return <Secret {...props} about={about} fields={fields} read={({ key = "" }) => ({ kind: "apiKey", key })} />;
    }
    case "httpAuthSecurityScheme": {
      const about = texts.tokenIn(scheme.value.scheme.slice(0, 40));
      return /^basic$/i.test(scheme.value.scheme) ? <Basic {...props} /> : <OwnToken {...props} about={about} />;
    }
    case "mtlsSecurityScheme":
      return <Note tone="wait">{texts.certificate}</Note>;
    default:
      return <Note tone="wait">{texts.unknown}</Note>;
  }
}

function Basic(props: SchemeProps): ReactNode {
  const { login: texts } = agentWords;
  const fields = [
    { name: "user", label: texts.user, isRequired: true },
    { name: "password", label: texts.password, isSecret: true, isRequired: true },
  ];
  return (
    <Secret
      {...props}
      about={texts.tokenIn("Basic")}
      fields={fields}
      read={({ user = "", password = "" }) => ({ kind: "basic", user, password })}
    />
  );
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

function Secret({ agent, name, login, about, fields, read }: SecretProps): ReactNode {
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
