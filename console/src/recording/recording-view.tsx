import { type ReactNode, useSyncExternalStore } from "react";
import type { Recorded } from "../../../src/examine/recording/format.js";
import { absolute, addedAgents, allAgents, type KnownAgent } from "../api/agents.js";
import type { Session } from "../api/session.js";
import { recordingWords } from "../texts/recording.js";
import { ErrorNote } from "../ui/error.js";
import { Facts, Note, Time, css as ui } from "../ui/parts.js";
import css from "./recording.module.css";
import type { RecordingSearch } from "./recording-search.js";
import type { Opened } from "./source.js";
import { TargetForm } from "./target-form.js";
import { TurnItem } from "./turn-item.js";
import { type Comparison, type ReplayState, useReplay } from "./use-replay.js";

interface ViewProps {
  readonly opened: Opened;
  readonly session: Session;
  readonly search: RecordingSearch;
  /** The agent of a conversation of this browser. */
  readonly talkAgent?: string;
}

/** A recording: its facts, the agent to replay it with, and its turns. */
export function RecordingView({ opened, session, search, talkAgent }: ViewProps): ReactNode {
  const { recording } = opened;
  const { turns, messages, isCut } = recording;
  const added = useSyncExternalStore(addedAgents.subscribe, addedAgents.get);
  const known = allAgents(session, added);
  // A file may name any address, so that of an unknown agent is never called.
  const given = search.agent ?? talkAgent ?? session.start?.agent ?? agentOf(recording, known);
  const agent = given === undefined ? undefined : absolute(given);
  const { state, start, stop } = useReplay(recording);
  const comparison: Comparison = search.compare === "shape" ? "shape" : "exact";
  const isRunning = state.phase === "running";
  return (
    <>
      <section className={`${ui.card} ${css.about}`}>
        <About opened={opened} isTalk={talkAgent !== undefined} />
        <TargetForm
          agent={agent}
          agents={known}
          speech={search.speech}
          comparison={comparison}
          isRunning={isRunning}
          onStart={(target) => void start(target)}
          onStop={stop}
        />
      </section>
      {isCut && <Note tone="wait">{recordingWords.cut}</Note>}
      <Outcome state={state} comparison={comparison} count={turns.length} />
      <section aria-label={recordingWords.list}>
        <h2 className={ui.hidden}>{recordingWords.list}</h2>
        <ol className={css.turns}>
          {turns.map((turn, at) => (
            <TurnItem
              // biome-ignore lint/suspicious/noArrayIndexKey: the place of a turn is its identity.
              key={at}
              number={at + 1}
              turn={turn}
              message={messages[at] as (typeof messages)[number]}
              comparison={comparison}
              state={stateOf(state, at)}
              result={state.results[at]}
              exchange={state.exchanges[at]}
            />
          ))}
        </ol>
      </section>
    </>
  );
}

function stateOf({ phase, at, results }: ReplayState, turn: number): "recorded" | "waiting" | "running" | "over" {
  if (results[turn] !== undefined) return "over";
  if (phase !== "running") return "recorded";
  return turn === at ? "running" : "waiting";
}

/** Returns the known agent of a recording: by the address of its interface, by its name, or because no other is known. */
function agentOf({ agent, interface: { url } }: Recorded, known: readonly KnownAgent[]): string | undefined {
  const called = known.filter((each) => URL.canParse(url) && `${absolute(url)}/`.startsWith(`${each.url}/`));
  const nearest = called.toSorted((one, other) => other.url.length - one.url.length)[0];
  const only = known.length === 1 ? known[0] : undefined;
  return (nearest ?? known.find(({ name }) => name === agent) ?? only)?.url;
}

function About({ opened, isTalk }: { readonly opened: Opened; readonly isTalk: boolean }): ReactNode {
  const { name, recording } = opened;
  const { agent, at, turns } = recording;
  const { binding, version } = recording.interface;
  const date = new Date(at);
  return (
    <div className={ui.stack}>
      <h2>{name.slice(0, 200) || recordingWords.talk}</h2>
      <Facts
        rows={[
          [recordingWords.recordedWith, agent.slice(0, 200) || "–"],
          binding !== "" && [recordingWords.interface, `${binding} ${version}`.slice(0, 60)],
          !isTalk && !Number.isNaN(date.getTime()) && [recordingWords.at, <Time key="at" at={date} />],
          [recordingWords.size, recordingWords.turns(turns.length)],
        ]}
      />
    </div>
  );
}

interface OutcomeProps {
  readonly state: ReplayState;
  readonly comparison: Comparison;
  readonly count: number;
}

/** The result of a replay, also announced to screen readers. */
function Outcome({ state: { phase, at, results, error }, comparison, count }: OutcomeProps): ReactNode {
  const different = results.filter(({ differences }) => differences[comparison].length > 0).length;
  const same = results.length - different;
  const verdict = different === 0 ? recordingWords.allSame(same) : recordingWords.someDiffer(different, same);
  return (
    <>
      <div role="status">
        {phase === "running" && <Note>{recordingWords.progress(results.length, count)}</Note>}
        {phase === "stopped" && <Note tone="wait">{recordingWords.stopped(results.length, count)}</Note>}
        {phase === "done" && <Note {...(different > 0 && { tone: "wait" })}>{verdict}</Note>}
      </div>
      {phase === "failed" && (
        <div className={ui.stack}>
          <h2>{at < 0 ? recordingWords.notConnected : recordingWords.failed(at + 1)}</h2>
          <ErrorNote error={error} />
        </div>
      )}
    </>
  );
}
