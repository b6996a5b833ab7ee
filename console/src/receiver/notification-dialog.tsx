import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Notification, notificationQuery } from "../api/receiver.js";
import { Code } from "../content/code.js";
import { ContentContext } from "../content/content-context.js";
import { withoutSecretTexts } from "../exchanges/hide.js";
import { receiverWords as texts } from "../texts/receiver.js";
import { Modal } from "../ui/dialog.js";
import { ErrorNote } from "../ui/error.js";
import { absoluteTime } from "../ui/format.js";
import { Bytes, CopyText, Facts, Note, Skeleton, css as ui } from "../ui/parts.js";
import { TaskPlace, type TaskPlaces } from "./columns.js";
import { EventView } from "./event-view.js";
import css from "./receiver.module.css";

interface DialogProps {
  readonly number: number | undefined;
  readonly token: string;
  readonly places: TaskPlaces;
  readonly onClose: () => void;
}

/** One notification: its proof, the event in it, and beside that what arrived. */
export function NotificationDialog({ number, onClose, ...rest }: DialogProps): ReactNode {
  return (
    <Modal title={texts.detail} isOpen={number !== undefined} onClose={onClose} wide>
      {number !== undefined && <Details key={number} number={number} {...rest} />}
    </Modal>
  );
}

function Details({ number, token, places }: Omit<DialogProps, "onClose" | "number"> & { readonly number: number }) {
  const { data, error, refetch } = useQuery(notificationQuery(number));
  if (error !== null) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton lines={6} />;
  if (data === null) return <Note tone="wait">{texts.gone}</Note>;
  const agent = places.registrations.find(({ taskId }) => taskId === data.taskId)?.agent;
  return (
    <>
      <Verdict of={data} />
      <NotificationFacts of={data} agent={agent} places={places} />
      <div className={css.beside}>
        <section className={ui.stack} aria-labelledby="notification-event">
          <h3 id="notification-event">{texts.decoded}</h3>
          <ContentContext value={{ agent }}>
            <EventView body={data.body} />
          </ContentContext>
        </section>
        <section className={ui.stack} aria-labelledby="notification-raw">
          <h3 id="notification-raw">{texts.raw}</h3>
          <div className={css.headers}>
            <Facts rows={Object.entries(data.headers).map(([name, value]) => [name, value.slice(0, 4_096)])} />
          </div>
          {data.body === "" ? (
            <p className={ui.soft}>{texts.noBody}</p>
          ) : (
            <Code code={withoutSecretTexts(data.body, [token])} language="json" />
          )}
        </section>
      </div>
    </>
  );
}

/** Tells why a notification was refused, and which signatures were not checked. */
function Verdict({ of: { refusal, status, unchecked } }: { readonly of: Notification }): ReactNode {
  return (
    <>
      {refusal !== undefined && (
        <Note tone="bad">
          <p>
            <strong>{texts.refusedFor(status)}</strong> {refusal.reason}
          </p>
          {refusal.detail !== undefined && <p className={ui.small}>{refusal.detail.slice(0, 1_000)}</p>}
          <p className={ui.small}>{texts.claimed}</p>
        </Note>
      )}
      {unchecked.map((header) => (
        <Note key={header} tone="wait">
          {texts.unchecked(header)}
        </Note>
      ))}
    </>
  );
}

interface FactsProps {
  readonly of: Notification;
  readonly agent: string | undefined;
  readonly places: TaskPlaces;
}

function NotificationFacts({ of, agent, places }: FactsProps): ReactNode {
  const { refusal, status, signatures, at, sentAt, taskId, eventId, configId, generation, size } = of;
  const proofs = signatures.map(({ kind, issuer }) =>
    issuer === undefined ? texts.webhook(kind) : texts.jwtOf(issuer),
  );
  const isKnown = agent !== undefined;
  return (
    <Facts
      rows={[
        refusal === undefined && [texts.verified, [texts.tokenOnly, ...proofs].join(", ")],
        refusal === undefined && [texts.answer, texts.accepted(status)],
        [texts.task, <TaskPlace key="task" taskId={taskId} places={places} />],
        isKnown && [
          texts.agent,
          <Link key="agent" to="/agent" search={{ url: agent }}>
            {agent}
          </Link>,
        ],
        [texts.arrived, absoluteTime(new Date(at))],
        sentAt !== undefined && [texts.sent, absoluteTime(new Date(sentAt))],
        eventId !== undefined && [texts.eventId, <CopyText key="event" text={eventId} />],
        configId !== undefined && [texts.config, <CopyText key="config" text={configId} />],
        generation !== undefined && [texts.generation, generation],
        [texts.size, <Bytes key="size" size={size} />],
      ]}
    />
  );
}
