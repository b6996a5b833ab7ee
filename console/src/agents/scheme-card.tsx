import type { ReactNode } from "react";
import { agentWords } from "../texts/agents.js";
import { Badge, Note, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import { OAuthCard } from "./oauth-card.js";
import { OwnToken, type SchemeProps, Secret } from "./scheme-secret.js";

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
