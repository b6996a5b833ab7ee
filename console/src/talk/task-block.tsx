import { ChevronDown, ChevronRight, CircleStop, CornerUpLeft, EyeOff, Play, RotateCcw } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, TaskState, textOf } from "../../../src/client/web.js";
import { isInterrupted, isTerminal } from "../../../src/task/state.js";
import { AgentError } from "../agents/agent-error.js";
import { useContentPlace } from "../content/content-context.js";
import { Failure } from "../receiver/failure.js";
import { TaskBell } from "../receiver/task-bell.js";
import { talkWords } from "../texts/talk.js";
import { Button, CopyText, classes, Note, css as ui } from "../ui/parts.js";
import { FirstOf, LastOf } from "../ui/some-of.js";
import { StateBadge } from "../ui/states.js";
import { ArtifactView } from "./artifact-view.js";
import { Bubble, WorkingLine } from "./bubble.js";
import { CutNotes } from "./cut-notes.js";
import { sayingOf } from "./messages-of.js";
import { Question } from "./question.js";
import css from "./talk.module.css";
import type { TalkStore } from "./talk-store.js";
import type { TaskView, Turn } from "./talk-view.js";
import type { Versions } from "./versions.js";

interface TaskBlockProps {
  readonly view: TaskView;
  readonly turns: readonly Turn[];
  readonly store: TalkStore;
  readonly versions: Versions;
  /** True for the task that the address names. */
  readonly isMarked: boolean;
  readonly onRefer: (taskId: string) => void;
}

/** A task: its messages, artifacts, what it waits for, and what can be done with it. */
export function TaskBlock(props: TaskBlockProps): ReactNode {
  const { view, store, versions, isMarked } = props;
  const { task, state = 0, messages, isFollowed, error, id } = view;
  const [pushFault, setPushFault] = useState<unknown>();
  const isWorking = isFollowed && !isInterrupted(state) && !isTerminal(state);
  return (
    <article className={classes(css.block, isMarked && css.marked)} aria-label={`${talkWords.task} ${id.slice(-6)}`}>
      <Messages view={view} store={store} />
      {task !== undefined && task.artifacts.length > 0 && (
        <div className={css.artifacts}>
          <FirstOf items={task.artifacts} step={100}>
            {(artifact) => (
              <ArtifactView key={artifact.artifactId} artifact={artifact} taskId={id} versions={versions} />
            )}
          </FirstOf>
        </div>
      )}
      {isWorking && <WorkingLine text={progressOf(messages, view)} />}
      {state === TaskState.AUTH_REQUIRED && <Note tone="wait">{talkWords.stateSpoken[state]}</Note>}
      {error !== undefined && <TaskError error={error} />}
      <CutNotes cuts={view.cuts} />
      {pushFault !== undefined && <Failure error={pushFault} />}
      <Foot {...props} onPushFault={setPushFault} />
    </article>
  );
}

function progressOf(messages: readonly Message[], { task }: TaskView): string {
  const last = task?.status?.message as Message | undefined;
  return last !== undefined && messages.at(-1) === last ? textOf(last).slice(0, 300) : "";
}

function TaskError({ error }: { readonly error: unknown }): ReactNode {
  const { agent = "" } = useContentPlace();
  const isMissing = error instanceof A2AError && error.reason === "TASK_NOT_FOUND";
  return isMissing ? <Note>{talkWords.isMissing}</Note> : <AgentError agent={agent} error={error} />;
}

/** The messages, with those about progress folded together. */
function Messages({ view, store }: { readonly view: TaskView; readonly store: TalkStore }): ReactNode {
  const { messages, state = 0 } = view;
  const isAtRest = isInterrupted(state) || isTerminal(state);
  const shown: ReactNode[] = [];
  let progress: Message[] = [];
  const flush = (): void => {
    const [first] = progress;
    if (first !== undefined) shown.push(<Progress key={`${first.messageId}-progress`} messages={progress} />);
    progress = [];
  };
  messages.forEach((message, at) => {
    const saying = sayingOf(messages, at, isAtRest);
    if (saying === "progress") {
      // The last one is shown as what goes on.
      if (at < messages.length - 1) progress.push(message);
      return;
    }
    flush();
    const key = message.messageId || at;
    if (saying === "own") shown.push(<Bubble key={key} message={message} saying="own" question={messages[at - 1]} />);
    else {
      const isOpen = at === messages.length - 1 && state === TaskState.INPUT_REQUIRED;
      shown.push(<Question key={key} message={message} view={view} store={store} isOpen={isOpen} />);
    }
  });
  flush();
  return <LastOf items={shown} step={100} />;
}

function Progress({ messages }: { readonly messages: readonly Message[] }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={css.progress}>
      <button type="button" className={css.progressHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? <ChevronDown size={13} aria-hidden="true" /> : <ChevronRight size={13} aria-hidden="true" />}
        {talkWords.progress(messages.length)}
      </button>
      {isOpen && (
        <FirstOf items={messages} step={100}>
          {(message, at) => <Bubble key={message.messageId || at} message={message} saying="progress" />}
        </FirstOf>
      )}
    </div>
  );
}

interface FootProps extends TaskBlockProps {
  readonly onPushFault: (error: unknown) => void;
}

function Foot({ view, turns, store, onRefer, onPushFault }: FootProps): ReactNode {
  const { id, state = 0, isFollowed, generation } = view;
  const isOver = isTerminal(state);
  const isWaiting = isInterrupted(state);
  const first = turns[0];
  return (
    <footer className={css.blockFoot}>
      {view.task !== undefined && <StateBadge state={state} />}
      <CopyText text={id} shown={id.length > 14 ? `…${id.slice(-12)}` : id} />
      {generation !== undefined && <span className={ui.soft}>{talkWords.generation(generation)}</span>}
      {!isFollowed && !isOver && !isWaiting && view.task !== undefined && (
        <span className={ui.soft}>{talkWords.left}</span>
      )}
      <span className={css.footActions}>
        {isFollowed && !isWaiting && (
          <Button kind="plain" icon title={talkWords.stopWaiting} onClick={() => store.stopWaiting(id)}>
            <EyeOff size={14} aria-hidden="true" />
          </Button>
        )}
        {!isFollowed && !isOver && !isWaiting && (
          <Button kind="plain" icon title={talkWords.follow} onClick={() => store.follow(id)}>
            <Play size={14} aria-hidden="true" />
          </Button>
        )}
        {!isOver && view.task !== undefined && (
          <Button kind="plain" onClick={() => void store.cancel(id)}>
            <CircleStop size={14} aria-hidden="true" />
            {talkWords.cancelTask}
          </Button>
        )}
        {sendsPush(store) && view.task !== undefined && (
          <TaskBell agent={store.kept.agent} taskId={id} isOver={isOver} onFault={onPushFault} />
        )}
        <Button kind="plain" icon title={talkWords.refer} onClick={() => onRefer(id)}>
          <CornerUpLeft size={14} aria-hidden="true" />
        </Button>
        {isOver && first !== undefined && (
          <Button kind="plain" icon title={talkWords.retry} onClick={() => store.retry(first)}>
            <RotateCcw size={14} aria-hidden="true" />
          </Button>
        )}
      </span>
    </footer>
  );
}

function sendsPush(store: TalkStore): boolean {
  return store.view().connected?.client.card.capabilities?.pushNotifications === true;
}
