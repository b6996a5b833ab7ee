import { Link, useNavigate } from "@tanstack/react-router";
import { CircleStop, Play } from "lucide-react";
import type { ReactNode } from "react";
import { useAgent } from "../agents/client.js";
import type { KnownAgent } from "../api/agents.js";
import { nameOf, speechesOf } from "../talk/speech.js";
import { recordingWords } from "../texts/recording.js";
import { ErrorNote } from "../ui/error.js";
import { Button, classes, css as ui } from "../ui/parts.js";
import css from "./recording.module.css";
import type { RecordingSearch } from "./recording-search.js";
import type { Comparison, Target } from "./use-replay.js";

interface FormProps {
  readonly agent: string | undefined;
  readonly agents: readonly KnownAgent[];
  readonly speech: string | undefined;
  readonly comparison: Comparison;
  readonly isRunning: boolean;
  readonly onStart: (target: Target) => void;
  readonly onStop: () => void;
}

/** Asks for the agent of a replay, the way to speak and the comparison, which the address has. */
export function TargetForm(props: FormProps): ReactNode {
  const { agent, agents, speech, comparison, isRunning, onStart, onStop } = props;
  const navigate = useNavigate();
  const change = (to: RecordingSearch): void =>
    void navigate({ to: "/recording", search: (now) => ({ ...now, ...to }), replace: true, resetScroll: false });
  return (
    <form
      className={css.fields}
      onSubmit={(event) => {
        event.preventDefault();
        if (agent !== undefined) onStart({ agent, speech });
      }}
    >
      <AgentField
        agent={agent}
        agents={agents}
        isRunning={isRunning}
        onChange={(to) => change({ agent: to, speech: undefined })}
      />
      {agent !== undefined && (
        <SpeechField agent={agent} speech={speech} isRunning={isRunning} onChange={(to) => change({ speech: to })} />
      )}
      <label className={classes(ui.field, agent === undefined && css.whole)}>
        <span>{recordingWords.compare}</span>
        <select
          className={ui.input}
          value={comparison}
          title={recordingWords.shapeHint}
          onChange={({ target }) => change({ compare: target.value === "shape" ? "shape" : undefined })}
        >
          <option value="exact">{recordingWords.exact}</option>
          <option value="shape">{recordingWords.shape}</option>
        </select>
      </label>
      {isRunning ? (
        // An element of its own: the click that stops must not submit the form.
        <Button key="stop" onClick={onStop}>
          <CircleStop size={15} aria-hidden="true" />
          {recordingWords.stop}
        </Button>
      ) : (
        <Button key="start" kind="main" type="submit" disabled={agent === undefined}>
          <Play size={15} aria-hidden="true" />
          {recordingWords.start}
        </Button>
      )}
      {comparison === "shape" && <p className={`${ui.soft} ${ui.small} ${css.whole}`}>{recordingWords.shapeHint}</p>}
    </form>
  );
}

interface AgentProps extends Pick<FormProps, "agent" | "agents" | "isRunning"> {
  readonly onChange: (agent: string | undefined) => void;
}

function AgentField({ agent, agents, isRunning, onChange }: AgentProps): ReactNode {
  const isKnown = agents.some(({ url }) => url === agent);
  return (
    <div className={`${ui.field} ${css.whole}`}>
      <label className={ui.field}>
        <span>{recordingWords.against}</span>
        <select
          className={ui.input}
          value={agent ?? ""}
          disabled={isRunning}
          onChange={({ target }) => onChange(target.value || undefined)}
        >
          {agent === undefined && <option value="">{recordingWords.chooseAgent}</option>}
          {agent !== undefined && !isKnown && <option value={agent}>{agent}</option>}
          {agents.map(({ name, url }) => (
            <option key={url} value={url}>
              {`${name} – ${url}`}
            </option>
          ))}
        </select>
      </label>
      {agent === undefined && <Link to="/agents">{recordingWords.addAgent}</Link>}
    </div>
  );
}

interface SpeechProps {
  readonly agent: string;
  readonly speech: string | undefined;
  readonly isRunning: boolean;
  readonly onChange: (speech: string | undefined) => void;
}

function SpeechField({ agent, speech, isRunning, onChange }: SpeechProps): ReactNode {
  const { data, error, refetch } = useAgent(agent);
  const names = data === undefined ? [] : speechesOf(data.card).map(nameOf);
  return (
    <>
      {error !== null && (
        <div className={css.whole}>
          <ErrorNote error={error} onRetry={() => void refetch()} />
        </div>
      )}
      <label className={`${ui.field} ${css.whole}`}>
        <span>{recordingWords.speech}</span>
        <select
          className={ui.input}
          value={speech ?? ""}
          disabled={isRunning}
          onChange={({ target }) => onChange(target.value || undefined)}
        >
          <option value="">{recordingWords.preferred}</option>
          {speech !== undefined && !names.includes(speech) && <option value={speech}>{speech}</option>}
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
