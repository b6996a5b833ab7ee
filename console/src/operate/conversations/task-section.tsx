import { type ReactNode, useState } from "react";
import { type Artifact, type Message, Role, type Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { PartsView } from "../../content/parts-view.js";
import { operateWords } from "../../texts/operate.js";
import { ErrorNote } from "../../ui/error.js";
import { Badge, Button, css, Note, Skeleton, Time } from "../../ui/parts.js";
import { StateBadge } from "../../ui/states.js";
import { TaskLink } from "../shared/names.js";
import look from "../shared/shared.module.css";
import { ArtifactCard } from "./artifact-card.js";
import page from "./conversation.module.css";
import type { VersionPosition } from "./lineage.js";
import type { ConversationTask } from "./use-conversation.js";

const { conversation: texts } = operateWords;

/** Messages of a task that are shown at first, and more at each request. */
const STEP = 30;

interface TaskSectionProps {
  readonly task: ConversationTask;
  readonly lineage: ReadonlyMap<Artifact, VersionPosition>;
}

/** A task in its conversation: its messages in order, then its artifacts. */
export function TaskSection({ task: { row, created, details, error, retry }, lineage }: TaskSectionProps): ReactNode {
  return (
    <li className={css.card} id={row.id}>
      <article className={css.stack} aria-label={`${operateWords.task} ${row.id}`}>
        <div className={css.row}>
          <StateBadge state={row.state} />
          <h2 className={look.rest}>
            <TaskLink id={row.id} />
          </h2>
          {row.agent !== "" && <span className={css.soft}>{row.agent}</span>}
          <span className={`${css.soft} ${css.small}`}>
            {texts.created} <Time at={created} />
          </span>
        </div>
        {error !== null && <ErrorNote error={error} onRetry={retry} />}
        {details === undefined && error === null && <Skeleton lines={3} />}
        {details?.damaged === true && <Note tone="bad">{texts.damaged}</Note>}
        {details !== undefined && details.task === undefined && !details.damaged && <Note>{texts.long}</Note>}
        {details?.task !== undefined && <Content task={details.task} lineage={lineage} />}
      </article>
    </li>
  );
}

function Content({ task, lineage }: { readonly task: Task; readonly lineage: TaskSectionProps["lineage"] }): ReactNode {
  const [shown, setShown] = useState(STEP);
  const { history, status, artifacts } = task;
  const messages = status?.message === undefined ? history : [...history, status.message];
  const left = messages.length - shown;
  return (
    <>
      {messages.length === 0 && <p className={css.soft}>{texts.noMessages}</p>}
      <ol className={css.stack}>
        {messages.slice(0, shown).map((message, index) => (
          <MessageItem key={message.messageId || index} message={message} />
        ))}
      </ol>
      {left > 0 && (
        <div>
          <Button onClick={() => setShown(shown + STEP)}>{texts.showMessages(left)}</Button>
        </div>
      )}
      {artifacts.map((artifact) => (
        <ArtifactCard key={artifact.artifactId} taskId={task.id} artifact={artifact} position={lineage.get(artifact)} />
      ))}
    </>
  );
}

const roles: Partial<Record<Role, string>> = { [Role.USER]: texts.user, [Role.AGENT]: texts.agent };

function MessageItem({
  message: { role, parts, metadata, referenceTaskIds },
}: {
  readonly message: Message;
}): ReactNode {
  const isByOperator = metadata?.["parley.sentBy"] === "operator";
  return (
    <li className={page.message} data-role={role === Role.USER ? "user" : "agent"}>
      <div className={css.row}>
        <strong className={css.small}>{roles[role] ?? texts.unknownRole}</strong>
        {isByOperator && <Badge>{texts.byOperator}</Badge>}
      </div>
      <PartsView parts={parts} of="message" />
      {referenceTaskIds.length > 0 && (
        <p className={`${css.small} ${css.soft}`}>
          {texts.refersTo}{" "}
          {referenceTaskIds.map((id) => (
            <span key={id} className={page.reference}>
              <TaskLink id={id} />
            </span>
          ))}
        </p>
      )}
    </li>
  );
}
