import { KeyRound, LockOpen, Trash2 } from "lucide-react";
import { type ReactNode, useMemo, useSyncExternalStore } from "react";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { comparableHost } from "../../../src/client/hosts.js";
import { isLoopback } from "../../../src/core/net.js";
import { agentWords } from "../texts/agents.js";
import { Button, Empty, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";
import { useLoginRevision } from "./client.js";
import { interfacesOf } from "./interfaces.js";
import { logins } from "./logins.js";
import { SchemeCard } from "./scheme-card.js";
import { WhoAmI } from "./who-am-i.js";

interface TabProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** The login at an agent, by the schemes of its card. */
export default function LoginTab({ agent, card: { found } }: TabProps): ReactNode {
  const { card } = found;
  const login = useSyncExternalStore(logins.subscribe, () => logins.get(agent));
  const revision = useLoginRevision(agent);
  const { login: texts } = agentWords;
  const names = Object.keys(card.securitySchemes).slice(0, 20);
  if (names.length === 0) {
    return (
      <Empty icon={<LockOpen size={28} aria-hidden="true" />} title={texts.none}>
        <p>{texts.noneHint}</p>
      </Empty>
    );
  }
  const hasAny = Object.keys(login.schemes).length > 0;
  return (
    <div className={css.columns}>
      <div className={ui.stack}>
        <Requirements card={card} />
        {names.map((name) => {
          const scheme = card.securitySchemes[name];
          return (
            scheme && <SchemeCard key={name} agent={agent} name={name} scheme={scheme} login={login.schemes[name]} />
          );
        })}
      </div>
      <div className={ui.stack}>
        <section className={`${ui.card} ${css.section}`}>
          <h2 className={ui.row}>
            <KeyRound size={16} aria-hidden="true" />
            {texts.kept}
          </h2>
          <p className={ui.soft}>{texts.about}</p>
          <Further agent={agent} found={found} />
          <div className={ui.row}>
            <Button kind="danger" disabled={!hasAny} onClick={() => logins.forget(agent)}>
              <Trash2 size={15} aria-hidden="true" />
              {texts.forget}
            </Button>
          </div>
        </section>
        {/* A verdict holds for the login that was asked about. */}
        <WhoAmI key={revision} agent={agent} card={card} />
      </div>
    </div>
  );
}

/** Says which schemes calls need: one of the alternatives, with all of its parts. */
function Requirements({ card: { securityRequirements } }: { readonly card: AgentCard }): ReactNode {
  const { login: texts } = agentWords;
  const ways = securityRequirements.slice(0, 10).map(({ schemes }) => {
    const names = Object.keys(schemes).map((name) => name.slice(0, 60));
    return names.length === 0 ? texts.nobody : names.join(` ${texts.and} `);
  });
  if (ways.length === 0) return <p className={ui.soft}>{texts.optional}</p>;
  return (
    <p>
      {texts.required} <strong>{ways.join(` ${texts.or} `)}</strong>
    </p>
  );
}

/** Further places that may get the login: other hosts of the card, and hosts without encryption. */
function Further({ agent, found }: { readonly agent: string; readonly found: ReceivedCard["found"] }): ReactNode {
  const login = useSyncExternalStore(logins.subscribe, () => logins.get(agent));
  const urls = useMemo(() => interfacesOf(found).flatMap(({ candidate }) => candidate?.url ?? []), [found]);
  const foreign = urls.filter((url) => comparableHost(url) !== comparableHost(agent));
  const hosts = [...new Set(foreign.map((url) => new URL(url).hostname))];
  const isPlain = urls.some((url) => url.startsWith("http:") && !isLoopback(url));
  const { login: texts } = agentWords;
  const { hosts: allowed = [] } = login;
  return (
    <>
      {hosts.length > 0 && (
        <fieldset className={css.fieldset}>
          <legend>{texts.hosts}</legend>
          <p className={`${ui.soft} ${ui.small}`}>{texts.hostsHint}</p>
          {hosts.slice(0, 20).map((host) => (
            <label key={host} className={css.check}>
              <input
                type="checkbox"
                checked={allowed.includes(host)}
                onChange={({ target: { checked } }) =>
                  logins.set(agent, {
                    ...login,
                    hosts: checked ? [...allowed, host] : allowed.filter((each) => each !== host),
                  })
                }
              />
              <code>{host.slice(0, 200)}</code>
            </label>
          ))}
        </fieldset>
      )}
      {isPlain && (
        <label className={css.check}>
          <input
            type="checkbox"
            checked={login.allowHttp === true}
            onChange={({ target: { checked } }) => logins.set(agent, { ...login, allowHttp: checked })}
          />
          <span>
            {texts.plain}
            <br />
            <span className={`${ui.soft} ${ui.small}`}>{texts.plainHint}</span>
          </span>
        </label>
      )}
    </>
  );
}
