import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { cardViolations } from "../../../src/examine/card-validate.js";
import { PlainText } from "../content/text-view.js";
import { agentWords } from "../texts/agents.js";
import { Badge, Button, Facts, Note, css as ui } from "../ui/parts.js";
import { AgentError } from "./agent-error.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";
import { useAgent } from "./client.js";
import { logins } from "./logins.js";
import { Outward } from "./outward.js";
import { Skills } from "./skills.js";

interface TabProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** Shows the card of an agent. */
export function CardTab({ agent, card: { found } }: TabProps): ReactNode {
  const [extended, setExtended] = useState<AgentCard>();
  const card = extended ?? found.card;
  const { card: texts } = agentWords;
  return (
    <div className={ui.stack}>
      {extended !== undefined && (
        <Note>
          <p>{texts.isExtended}</p>
          <Button onClick={() => setExtended(undefined)}>{texts.showPublic}</Button>
        </Note>
      )}
      <div className={css.columns}>
        <div className={ui.stack}>
          {card.description !== "" && (
            <div className={`${ui.card} ${css.description}`}>
              <PlainText text={card.description} />
            </div>
          )}
          <section className={`${ui.card} ${css.section}`}>
            <h2>{texts.skills}</h2>
            <Skills agent={agent} skills={card.skills} />
          </section>
        </div>
        <div className={ui.stack}>
          <About card={card} found={found} />
          <Capabilities card={card} />
          {found.card.capabilities?.extendedAgentCard === true && extended === undefined && (
            <Extended agent={agent} card={found.card} onCard={setExtended} />
          )}
        </div>
      </div>
    </div>
  );
}

/** Opens another tab of the agent's page. */
function TabLink({ tab, children }: { readonly tab: string; readonly children: ReactNode }): ReactNode {
  return (
    <Link to="/agent" search={(before) => ({ ...before, tab })} replace>
      {children}
    </Link>
  );
}

function About({ card, found }: { readonly card: AgentCard; readonly found: ReceivedCard["found"] }): ReactNode {
  const { card: texts, agent: agentTexts } = agentWords;
  const { provider, documentationUrl, signatures, securityRequirements } = card;
  const versions = [...new Set(card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion))].join(", ");
  const faults = found.text === undefined ? 0 : faultsIn(found.text);
  const isOpen = securityRequirements.length === 0 || securityRequirements.some(({ schemes }) => !hasAny(schemes));
  return (
    <section className={`${ui.card} ${css.section}`}>
      <h2>{texts.about}</h2>
      <Facts
        rows={[
          found.url !== undefined && [texts.cardUrl, <Outward key="card" href={found.url} />],
          provider !== undefined && [
            texts.provider,
            <Outward key="provider" href={provider.url}>
              {(provider.organization || provider.url).slice(0, 200)}
            </Outward>,
          ],
          [texts.version, card.version.slice(0, 100)],
          [texts.protocol, versions.slice(0, 200)],
          !!documentationUrl && [texts.documentation, <Outward key="documentation" href={documentationUrl} />],
          [
            texts.security,
            <span key="security">
              {isOpen ? texts.open : texts.needs}{" "}
              {hasAny(card.securitySchemes) && <TabLink tab="login">{texts.toLogin}</TabLink>}
            </span>,
          ],
          [
            texts.signatures,
            signatures.length === 0 ? (
              texts.unsigned
            ) : (
              <span key="signatures">
                {texts.signed(signatures.length)} · <TabLink tab="checks">{texts.verify}</TabLink>
              </span>
            ),
          ],
          faults > 0 && [
            agentTexts.checks,
            <TabLink key="faults" tab="checks">
              {agentTexts.faults(faults)}
            </TabLink>,
          ],
        ]}
      />
    </section>
  );
}

const hasAny = (record: object): boolean => Object.keys(record).length > 0;

function faultsIn(text: string): number {
  try {
    return cardViolations(JSON.parse(text)).length;
  } catch {
    return 0;
  }
}

function Capabilities({ card }: { readonly card: AgentCard }): ReactNode {
  const { card: texts } = agentWords;
  const { streaming, pushNotifications, extendedAgentCard, extensions = [] } = card.capabilities ?? {};
  const has = (is: boolean | undefined, yes: string, no: string): ReactNode =>
    is === true ? <Badge tone="good">{yes}</Badge> : <Badge>{no}</Badge>;
  return (
    <section className={`${ui.card} ${css.section}`}>
      <h2>{texts.capabilities}</h2>
      <div className={ui.row}>
        {has(streaming, texts.streaming, texts.noStreaming)}
        {has(pushNotifications, texts.push, texts.noPush)}
        {has(extendedAgentCard, texts.extended, texts.noExtended)}
      </div>
      <Facts
        rows={[
          [texts.inputs, <Modes key="in" modes={card.defaultInputModes} />],
          [texts.outputs, <Modes key="out" modes={card.defaultOutputModes} />],
        ]}
      />
      {extensions.length > 0 && (
        <>
          <h3>{texts.extensions}</h3>
          <ul className={css.items}>
            {extensions.slice(0, 100).map(({ uri, description, required }) => (
              <li key={uri} className={css.item}>
                <span className={ui.row}>
                  <code>{uri.slice(0, 300)}</code>
                  {required && <Badge tone="wait">{texts.required}</Badge>}
                </span>
                <span className={ui.soft}>{description.slice(0, 500)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** Media types. */
export function Modes({ modes }: { readonly modes: readonly string[] }): ReactNode {
  if (modes.length === 0) return <span className={ui.soft}>{agentWords.card.anything}</span>;
  return <code>{modes.slice(0, 60).join(", ").slice(0, 1_000)}</code>;
}

interface ExtendedProps {
  readonly agent: string;
  readonly card: AgentCard;
  readonly onCard: (card: AgentCard) => void;
}

function Extended({ agent, card: { securitySchemes }, onCard }: ExtendedProps): ReactNode {
  const { data: client, error } = useAgent(agent);
  const isLoggedIn = !hasAny(securitySchemes) || hasAny(logins.get(agent).schemes);
  const load = useMutation({
    mutationFn: async () => await client?.extendedCard(),
    onSuccess: (card) => card !== undefined && onCard(card),
  });
  const { card: texts } = agentWords;
  return (
    <section className={`${ui.card} ${css.section}`}>
      <h2>{texts.extended}</h2>
      <p className={ui.soft}>{texts.extendedHint}</p>
      <div className={ui.row}>
        {isLoggedIn ? (
          <Button disabled={client === undefined || load.isPending} onClick={() => load.mutate()}>
            {texts.loadExtended}
          </Button>
        ) : (
          <TabLink tab="login">{texts.extendedLogin}</TabLink>
        )}
      </div>
      {(load.error ?? error) !== null && <AgentError agent={agent} error={load.error ?? error} />}
    </section>
  );
}
