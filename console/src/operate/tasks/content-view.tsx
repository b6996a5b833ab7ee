import { memo, type ReactNode, useState } from "react";
import { type Artifact, type Message, Role, type Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { PartsView } from "../../content/parts-view.js";
import { taskPageWords } from "../../texts/task.js";
import { Badge, Button, css } from "../../ui/parts.js";
import { originIn } from "./origins.js";
import page from "./task.module.css";

/** Messages and artifacts that are shown at first, with each click as many more. */
const SHOWN = 40;

const { content: texts } = taskPageWords;

interface ContentViewProps {
  readonly task: Task;
  /** Content after the name of an artifact, such as its versions. */
  readonly about?: (artifact: Artifact) => ReactNode;
}

/** Messages and artifacts of a task, side by side where there is room. */
export function ContentView({ task, about }: ContentViewProps): ReactNode {
  const current = task.status?.message;
  const isArchived = task.history.at(-1)?.messageId === current?.messageId;
  const messages = current === undefined || isArchived ? task.history : [...task.history, current];
  return (
    <div className={page.content}>
      <Messages messages={messages} />
      <Artifacts artifacts={task.artifacts} about={about} />
    </div>
  );
}

function Messages({ messages }: { readonly messages: readonly Message[] }): ReactNode {
  const [limit, setLimit] = useState(SHOWN);
  const first = Math.max(0, messages.length - limit);
  return (
    <section className={css.stack} aria-label={texts.messages}>
      <h2>{texts.messageCount(messages.length)}</h2>
      {first > 0 && <Button onClick={() => setLimit(limit * 4)}>{texts.earlier(first)}</Button>}
      {messages.length === 0 && <p className={css.soft}>{texts.noMessages}</p>}
      {messages.slice(first).map((message, offset) => (
        <OneMessage key={message.messageId || first + offset} message={message} />
      ))}
    </section>
  );
}

const OneMessage = memo(({ message }: { readonly message: Message }): ReactNode => {
  const { role, parts, metadata } = message;
  const isAgent = role === Role.AGENT;
  const origin = originIn(metadata);
  return (
    <article className={page.message} data-role={isAgent ? "agent" : "user"}>
      <header className={`${css.soft} ${css.small}`}>
        {origin === undefined ? (isAgent ? texts.agent : texts.client) : texts.relayed(origin.agent)}
      </header>
      <PartsView parts={parts} of="message" />
    </article>
  );
});

interface ArtifactsProps {
  readonly artifacts: readonly Artifact[];
  readonly about: ((artifact: Artifact) => ReactNode) | undefined;
}

function Artifacts({ artifacts, about }: ArtifactsProps): ReactNode {
  const [limit, setLimit] = useState(SHOWN);
  return (
    <section className={css.stack} aria-label={texts.artifacts}>
      <h2>{texts.artifactCount(artifacts.length)}</h2>
      {artifacts.length === 0 && <p className={css.soft}>{texts.noArtifacts}</p>}
      {artifacts.slice(0, limit).map((artifact) => (
        <OneArtifact key={artifact.artifactId} artifact={artifact} about={about?.(artifact)} />
      ))}
      {artifacts.length > limit && (
        <Button onClick={() => setLimit(limit * 4)}>{texts.moreArtifacts(artifacts.length - limit)}</Button>
      )}
    </section>
  );
}

interface OneArtifactProps {
  readonly artifact: Artifact;
  readonly about: ReactNode;
}

const OneArtifact = memo(({ artifact, about }: OneArtifactProps): ReactNode => {
  const { name, artifactId, description, parts, metadata } = artifact;
  const origin = originIn(metadata);
  return (
    <article className={css.card}>
      <header className={css.row}>
        <h3 className={page.break}>{name || artifactId}</h3>
        {origin !== undefined && <Badge>{texts.relayed(origin.agent)}</Badge>}
      </header>
      {description !== "" && <p className={`${css.soft} ${css.small}`}>{description}</p>}
      {about ?? <PartsView parts={parts} />}
    </article>
  );
});
