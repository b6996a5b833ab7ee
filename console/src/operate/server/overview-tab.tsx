import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { DeliveryState, type GetServerResponse } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { serverWords } from "../../texts/server.js";
import { durationText, numberText } from "../../ui/format.js";
import { Badge, Bytes, CopyText, css, Note, Time, type Tone } from "../../ui/parts.js";
import { Fact, FactList } from "../shared/fact.js";
import { dateOf } from "../tasks/task-row.js";
import page from "./server.module.css";
import { ServerActions } from "./server-actions.js";

const { facts: texts } = serverWords;

const tones: Readonly<Record<string, Tone>> = { ready: "good", unavailable: "bad", starting: "busy", draining: "wait" };

/** The readiness, by word and colour. */
export function ReadinessBadge({ readiness }: { readonly readiness: string }): ReactNode {
  const names: Readonly<Record<string, string>> = serverWords.readiness;
  return <Badge tone={tones[readiness]}>{names[readiness] ?? readiness}</Badge>;
}

/** The state of the process and its store, and what can be done to them. */
export function OverviewTab({ server }: { readonly server: GetServerResponse }): ReactNode {
  return (
    <>
      {server.readinessReason !== "" && <Note tone="wait">{server.readinessReason}</Note>}
      {server.shared && <Note>{serverWords.oneProcess}</Note>}
      <section className={css.card}>
        <ServerFacts server={server} />
      </section>
      <ServerActions server={server} />
    </>
  );
}

function ServerFacts({ server }: { readonly server: GetServerResponse }): ReactNode {
  const { version, nodeVersion, protocolVersions, started, holder, commits, commitSeconds, retentionMs } = server;
  const [calls, streams, ended] = [server.calls, server.streams, server.endedCalls].map(Number);
  const mean = durationText((commitSeconds / Math.max(1, Number(commits))) * 1_000);
  return (
    <FactList>
      <Fact name={texts.readiness}>
        <ReadinessBadge readiness={server.readiness} />
      </Fact>
      <Fact name={texts.versions}>
        {texts.versionsText(version, nodeVersion, new Intl.ListFormat().format(protocolVersions))}
      </Fact>
      <Fact name={texts.agents}>
        <Agents server={server} />
      </Fact>
      <Fact name={texts.started}>
        <Time at={dateOf(started)} />
      </Fact>
      <Fact name={texts.process}>
        <CopyText text={holder} />
      </Fact>
      <Fact name={texts.calls}>{texts.callsText(calls ?? 0, streams ?? 0, ended ?? 0)}</Fact>
      <Fact name={texts.executions}>{texts.executionsText(Number(server.running), Number(server.waiting))}</Fact>
      <Fact name={texts.leases}>{numberText(server.leases)}</Fact>
      <Fact name={texts.tasks}>
        <Link to="/operate/inbox">{texts.waitFor(Number(server.interrupted))}</Link>
      </Fact>
      <Fact name={texts.deliveries}>
        <Deliveries server={server} />
      </Fact>
      <Fact name={texts.store}>
        <Store server={server} />
      </Fact>
      <Fact name={texts.retention}>
        {texts.retentionText(retentionMs === undefined ? undefined : durationText(Number(retentionMs)))}
      </Fact>
      {commits > 0n && <Fact name={texts.commits}>{texts.commitsText(Number(commits), mean)}</Fact>}
      <Fact name={texts.memory}>
        <Bytes size={server.memoryBytes} />
      </Fact>
      {server.logLevel !== "" && <Fact name={texts.log}>{server.logLevel}</Fact>}
    </FactList>
  );
}

function Agents({ server: { agents } }: { readonly server: GetServerResponse }): ReactNode {
  return (
    <ul className={page.agents}>
      {agents.map(({ tenant, name, version }) => (
        <li key={tenant}>
          {tenant !== "" && `${tenant}: `}
          {name} {version}
        </li>
      ))}
    </ul>
  );
}

function Deliveries({ server: { deliveries, deadDeliveries } }: { readonly server: GetServerResponse }): ReactNode {
  return (
    <>
      {texts.deliveriesText(Number(deliveries))},{" "}
      <Link to="/operate/deliveries" search={{ states: DeliveryState[DeliveryState.DEAD] }}>
        {texts.dead(Number(deadDeliveries))}
      </Link>
    </>
  );
}

function Store({ server: { store, storeBytes, shared } }: { readonly server: GetServerResponse }): ReactNode {
  return (
    <>
      {store}
      {storeBytes > 0n && (
        <>
          , <Bytes size={storeBytes} />
        </>
      )}
      {shared && `, ${texts.sharedStore}`}
    </>
  );
}
