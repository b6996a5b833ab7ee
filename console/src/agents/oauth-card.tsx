import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import type { SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { redirectUri } from "../api/base.js";
import { agentWords } from "../texts/agents.js";
import { ErrorNote } from "../ui/error.js";
import { Badge, Button, CopyText, Facts, Note, css as ui } from "../ui/parts.js";
import { useAgent, useLoginRevision } from "./client.js";
import { DeviceSignIn } from "./device-sign-in.js";
import { FieldsForm } from "./fields-form.js";
import { type OAuthFlow, type OAuthLogin, tokensOf } from "./logins.js";
import { keepScheme, OwnToken, type SchemeProps } from "./scheme-secret.js";

/** Ways to log in by a token: the flows, and a token that a person has. */
type Way = OAuthFlow | "own";

const flows: readonly OAuthFlow[] = ["authorizationCode", "deviceCode", "clientCredentials"];

/** Login by OAuth 2.0 or OpenID Connect. */
export function OAuthCard(props: SchemeProps): ReactNode {
  const { agent, name, scheme, login } = props;
  const ways = waysOf(scheme);
  const [way, setWay] = useState<Way>(login?.kind === "bearer" ? "own" : (ways.flows[0] ?? "own"));
  const [isEdited, setEdited] = useState(false);
  const { login: texts } = agentWords;
  if (login !== undefined && "clientId" in login && !isEdited)
    return <Kept {...props} login={login} onEdit={() => setEdited(true)} />;
  return (
    <>
      {ways.other !== undefined && <Note tone="wait">{texts.otherFlow(ways.other)}</Note>}
      <WayChoice ways={[...ways.flows, "own"]} way={way} onChange={setWay} />
      {way === "own" ? (
        <OwnToken {...props} about={texts.tokenIn("Bearer")} />
      ) : (
        <OAuthForm
          key={way}
          flow={way}
          login={login !== undefined && "clientId" in login ? login : undefined}
          onSave={(given) => {
            keepScheme(agent, name, given);
            setEdited(false);
          }}
        />
      )}
    </>
  );
}

/** Returns the flows of a scheme: that of the card, or all if only the issuer's metadata name them. */
function waysOf({ scheme }: SecurityScheme): { readonly flows: readonly OAuthFlow[]; readonly other?: string } {
  if (scheme.case !== "oauth2SecurityScheme") return { flows };
  const named = scheme.value.flows?.flow.case;
  if (named === undefined) return { flows };
  const known = flows.filter((each) => each === named);
  return known.length > 0 ? { flows: known } : { flows: [], other: named };
}

interface ChoiceProps {
  readonly ways: readonly Way[];
  readonly way: Way;
  readonly onChange: (way: Way) => void;
}

function WayChoice({ ways, way, onChange }: ChoiceProps): ReactNode {
  const id = useId();
  const { login: texts } = agentWords;
  return (
    <label className={ui.field} htmlFor={id}>
      <span>{texts.way}</span>
      <select id={id} className={ui.input} value={way} onChange={({ target }) => onChange(target.value as Way)}>
        {ways.map((each) => (
          <option key={each} value={each}>
            {each === "own" ? texts.ownToken : texts.flows[each]}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FormProps {
  readonly flow: OAuthFlow;
  readonly login: OAuthLogin | undefined;
  readonly onSave: (login: OAuthLogin) => void;
}

function OAuthForm({ flow, login, onSave }: FormProps): ReactNode {
  const { login: texts } = agentWords;
  const isProgram = flow === "clientCredentials";
  const fields = [
    { name: "clientId", label: texts.clientId, isRequired: true },
    {
      name: "clientSecret",
      label: isProgram ? texts.clientSecret : texts.optionalSecret,
      isSecret: true,
      isRequired: isProgram,
    },
    { name: "scopes", label: texts.scopes, hint: texts.scopesHint },
    { name: "resource", label: texts.resource, hint: texts.resourceHint },
    { name: "issuer", label: texts.issuer, hint: texts.issuerHint },
  ];
  const { clientId = "", scopes = [], resource = "", issuer = "" } = login ?? {};
  return (
    <>
      {flow === "authorizationCode" && (
        <p className={ui.small}>
          {texts.redirect} <CopyText text={redirectUri} />
        </p>
      )}
      <FieldsForm
        fields={fields}
        initial={{ clientId, resource, issuer, scopes: scopes.join(" ") }}
        action={texts.save}
        onSubmit={(values) => onSave({ kind: flow, clientId: values.clientId ?? "", ...optionalsOf(values) })}
      />
    </>
  );
}

function optionalsOf(values: Readonly<Record<string, string>>): Omit<OAuthLogin, "kind" | "clientId"> {
  const { clientSecret = "", scopes = "", resource = "", issuer = "" } = values;
  return {
    ...(clientSecret !== "" && { clientSecret }),
    ...(scopes !== "" && { scopes: scopes.split(/\s+/) }),
    ...(resource !== "" && { resource }),
    ...(issuer !== "" && { issuer }),
  };
}

interface KeptProps extends Omit<SchemeProps, "login"> {
  readonly login: OAuthLogin;
  readonly onEdit: () => void;
}

/** A client of an issuer that is kept, and its sign-in. */
function Kept({ agent, name, login, onEdit }: KeptProps): ReactNode {
  const { login: texts } = agentWords;
  // New tokens do not change the login, but its revision.
  useLoginRevision(agent);
  const isSignedIn = tokensOf(agent).length > 0;
  return (
    <>
      <Facts
        rows={[
          [texts.flow, texts.flows[login.kind]],
          [texts.clientId, login.clientId],
          login.scopes !== undefined && [texts.scopes, login.scopes.join(" ")],
          login.issuer !== undefined && [texts.issuer, login.issuer],
        ]}
      />
      <div className={ui.row}>
        <Badge tone={isSignedIn ? "good" : "wait"}>{isSignedIn ? texts.signedIn : texts.notSignedIn}</Badge>
        <Button onClick={onEdit}>{texts.edit}</Button>
        <Button kind="plain" onClick={() => keepScheme(agent, name, undefined)}>
          {agentWords.agent.forget}
        </Button>
      </div>
      {login.kind === "authorizationCode" && <CodeSignIn agent={agent} scheme={name} />}
      {login.kind === "deviceCode" && <DeviceSignIn agent={agent} scheme={name} />}
    </>
  );
}

/** Goes to the issuer's page, which comes back to the console. */
function CodeSignIn({ agent, scheme }: { readonly agent: string; readonly scheme: string }): ReactNode {
  const { data: client, error } = useAgent(agent);
  const begin = useMutation({
    mutationFn: async () => {
      if (client === undefined) return;
      const { beginSignIn } = await import("./oauth.js");
      const page = await beginSignIn(client, { agent, scheme });
      if (/^https?:$/.test(page.protocol)) location.assign(page);
    },
  });
  const failure = begin.error ?? error;
  return (
    <>
      <div className={ui.row}>
        <Button kind="main" disabled={client === undefined || begin.isPending} onClick={() => begin.mutate()}>
          {agentWords.login.signIn}
        </Button>
      </div>
      {failure !== null && <ErrorNote error={failure} />}
    </>
  );
}
