import { useQueries } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import type { ReactNode } from "react";
import { withoutSecrets } from "../../../src/core/net.js";
import { faultOfPing } from "../../../src/examine/check.js";
import { ScrollBox } from "../content/scroll-box.js";
import { agentWords } from "../texts/agents.js";
import { sentenceOf } from "../ui/error.js";
import { durationText } from "../ui/format.js";
import { Badge, Button, Empty, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";
import { useLoginRevision } from "./client.js";
import { type Declared, interfacesOf, openInterface } from "./interfaces.js";

interface TabProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** Calls of one interface: the first opens the connection, later ones show its latency. */
const CALLS = 4;

/** Result of the calls to an interface. */
interface Pinged {
  readonly fault: string | undefined;
  /** In milliseconds. */
  readonly first: number;
  /** The median of the later calls. */
  readonly later: number | undefined;
}

/** The interfaces of an agent, and which of them answer. */
export default function InterfacesTab({ agent, card: { found } }: TabProps): ReactNode {
  const all = interfacesOf(found);
  const revision = useLoginRevision(agent);
  const queries = useQueries({
    queries: all.map((each) => ({
      queryKey: ["ping", agent, revision, each.key, each.declared.url, each.candidate?.version],
      queryFn: ({ signal }: { signal: AbortSignal }) => pinged(agent, found.card, each, signal),
      enabled: each.candidate !== undefined,
      retry: false,
      staleTime: 60_000,
    })),
  });
  const { interfaces: texts } = agentWords;
  if (all.length === 0) return <Empty title={texts.none} />;
  return (
    <div className={css.section}>
      <div className={ui.head}>
        <p className={ui.soft}>{texts.about}</p>
        <Button
          disabled={queries.some(({ isFetching }) => isFetching)}
          onClick={() => {
            for (const [at, { refetch }] of queries.entries()) if (all[at]?.candidate !== undefined) void refetch();
          }}
        >
          <RotateCw size={15} aria-hidden="true" />
          {texts.again}
        </Button>
      </div>
      <ScrollBox className={css.scrollable} label={agentWords.agent.interfaces}>
        <table className={ui.table}>
          <thead>
            <tr>
              <th scope="col">{texts.binding}</th>
              <th scope="col">{texts.version}</th>
              <th scope="col">{texts.url}</th>
              <th scope="col">{texts.result}</th>
              <th scope="col" className={css.number}>
                {texts.first}
              </th>
              <th scope="col" className={css.number}>
                {texts.later}
              </th>
            </tr>
          </thead>
          <tbody>
            {all.map((each, at) => (
              <InterfaceRow key={each.key} of={each} result={queries[at]} />
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </div>
  );
}

async function pinged(
  agent: string,
  card: ReceivedCard["found"]["card"],
  { candidate }: Declared,
  signal: AbortSignal,
): Promise<Pinged> {
  if (candidate === undefined) throw new Error("The interface cannot be called.");
  const client = await openInterface(agent, card, candidate);
  try {
    const times: number[] = [];
    let fault: string | undefined;
    for (let call = 0; call < CALLS && fault === undefined; call++) {
      const begin = performance.now();
      fault = await faultOfPing(client, signal);
      signal.throwIfAborted();
      times.push(performance.now() - begin);
    }
    const [first = 0, ...rest] = times;
    return { fault, first, later: rest.toSorted((one, other) => one - other)[Math.floor(rest.length / 2)] };
  } finally {
    await client.close();
  }
}

interface RowProps {
  readonly of: Declared;
  readonly result:
    | { readonly data: Pinged | undefined; readonly error: unknown; readonly isFetching: boolean }
    | undefined;
}

function InterfaceRow({ of: { declared, candidate, reason }, result }: RowProps): ReactNode {
  const { data, error, isFetching = false } = result ?? {};
  const fault = data?.fault ?? (error ? sentenceOf(error) : undefined);
  const time = (ms: number | undefined): string => (fault === undefined && ms !== undefined ? durationText(ms) : "");
  return (
    <tr>
      <td>{(candidate?.binding ?? declared.protocolBinding).slice(0, 60)}</td>
      <td>{(candidate?.version ?? declared.protocolVersion).slice(0, 20)}</td>
      <td className={ui.mono}>{withoutSecrets(candidate?.url ?? declared.url).slice(0, 300)}</td>
      <td>
        <PingBadge isCalled={candidate !== undefined} isFetching={isFetching} fault={fault} />
        {reason !== undefined && <p className={`${ui.soft} ${ui.small}`}>{reason}</p>}
        {fault !== undefined && !isFetching && <p className={`${css.fault} ${ui.small}`}>{fault.slice(0, 400)}</p>}
      </td>
      <td className={css.number}>{time(data?.first)}</td>
      <td className={css.number}>{time(data?.later)}</td>
    </tr>
  );
}

interface PingBadgeProps {
  readonly isCalled: boolean;
  readonly isFetching: boolean;
  readonly fault: string | undefined;
}

function PingBadge({ isCalled, isFetching, fault }: PingBadgeProps): ReactNode {
  const { interfaces: texts } = agentWords;
  if (!isCalled) return <Badge>{texts.notCalled}</Badge>;
  if (isFetching) return <Badge tone="busy">{texts.asking}</Badge>;
  return fault === undefined ? <Badge tone="good">{texts.works}</Badge> : <Badge tone="bad">{texts.fails}</Badge>;
}
