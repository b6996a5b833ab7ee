import type { JsonValue } from "@bufbuild/protobuf";
import { Bell, BellRing, SendHorizontal, X } from "lucide-react";
import { type KeyboardEvent, lazy, type ReactNode, Suspense, useEffect, useId, useRef, useState } from "react";
import type { MessageFields } from "../../../src/client/web.js";
import { NotifyNotes } from "../receiver/notify-notes.js";
import { useNotified } from "../receiver/use-notified.js";
import { receiverWords } from "../texts/receiver.js";
import { talkWords } from "../texts/talk.js";
import { bytesText } from "../ui/format.js";
import { Button, classes, Skeleton, css as ui } from "../ui/parts.js";
import { type Attachments, partsOfFiles } from "./attachments.js";
import { ComposerTools, type Extra, ExtraField } from "./composer-tools.js";
import css from "./talk.module.css";
import type { TalkStore } from "./talk-store.js";
import type { TalkView } from "./talk-view.js";

const JsonEditor = lazy(() => import("../content/json-editor.js"));

const { compose } = talkWords;

interface ComposerProps {
  readonly store: TalkStore;
  readonly view: TalkView;
  readonly files: Attachments;
  /** Tasks that the next message refers to. */
  readonly references: readonly string[];
  readonly onReferences: (ids: readonly string[]) => void;
  readonly hasFocus: boolean;
  /** The text at first. */
  readonly begin: string;
}

/** Writes the next message: text, files and data, to a task that waits or to a new one. */
export function Composer(props: ComposerProps): ReactNode {
  const { store, view, files, references, onReferences } = props;
  const [text, setText] = useState(props.begin);
  const [json, setJson] = useState<string>();
  const [target, setTarget] = useState<string>();
  const notified = useNotified(store.kept.agent);
  const [extra, setExtra] = useState<Extra | undefined>(store.kept.accepts ? "types" : undefined);
  const to = targetOf(view, target);
  const data = json === undefined || json.trim() === "" ? undefined : parsed(json);
  const isEmpty = text.trim() === "" && files.list.length === 0 && data === undefined;
  const isBlocked = isEmpty || data?.fault !== undefined || view.isFirst;
  const send = async (): Promise<void> => {
    if (isBlocked) return;
    const webhook = await notified.take();
    if (webhook === "failed") return;
    const parts = await partsIn(text, files, data?.value);
    setText("");
    setJson(undefined);
    setTarget(undefined);
    files.clear();
    onReferences([]);
    const refers = references.length > 0 && { referenceTaskIds: references };
    store.send({ parts, ...(to !== undefined && { taskId: to }), ...refers }, webhook);
  };
  return (
    <form
      className={css.composer}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Chips files={files} references={references} onReferences={onReferences} />
      {json !== undefined && <Data text={json} fault={data?.fault} onText={setJson} onSend={() => void send()} />}
      <ExtraField open={extra} files={files} store={store} onDone={() => setExtra(undefined)} />
      <TextBox {...props} text={text} onText={setText} onSend={() => void send()} isAnswer={to !== undefined} />
      <div className={css.composeRow}>
        <ComposerTools
          files={files}
          hasData={json !== undefined}
          onData={() => setJson(json === undefined ? "{\n  \n}" : undefined)}
          open={extra}
          onOpen={setExtra}
        />
        <NotifyButton view={view} notified={notified} />
        {view.waiting.length > 0 && <Target view={view} to={to} onChange={setTarget} />}
        <Button kind="main" type="submit" disabled={isBlocked} className={css.sendButton}>
          <SendHorizontal size={15} aria-hidden="true" />
          {compose.send}
        </Button>
      </div>
      {view.isFirst && !isEmpty && <p className={css.fault}>{compose.firstFirst}</p>}
      <NotifyNotes agent={store.kept.agent} notified={notified} />
    </form>
  );
}

async function partsIn(text: string, files: Attachments, data: JsonValue | undefined) {
  const parts: Exclude<MessageFields["parts"], string> = [
    ...(text.trim() === "" ? [] : [{ text }]),
    ...(await partsOfFiles(files.list)),
    ...(data === undefined ? [] : [{ data }]),
  ];
  return parts;
}

/** Registers the receiver for the task of the next message, at an agent that sends notifications. */
function NotifyButton({
  view,
  notified: { isOn, toggle },
}: Pick<ComposerProps, "view"> & { readonly notified: ReturnType<typeof useNotified> }): ReactNode {
  if (view.connected?.client.card.capabilities?.pushNotifications !== true) return undefined;
  const Icon = isOn ? BellRing : Bell;
  return (
    <Button kind="plain" icon title={receiverWords.bell} aria-pressed={isOn} onClick={toggle}>
      <Icon size={16} aria-hidden="true" />
    </Button>
  );
}

/** The chosen task if it still waits; else the one that asked last. `new` stands for a new one. */
function targetOf({ waiting }: TalkView, chosen: string | undefined): string | undefined {
  if (chosen === "new") return undefined;
  return chosen !== undefined && waiting.includes(chosen) ? chosen : waiting.at(-1);
}

function parsed(json: string): { readonly value?: JsonValue; readonly fault?: string } {
  try {
    return { value: JSON.parse(json) as JsonValue };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

interface DataProps {
  readonly text: string;
  readonly fault: string | undefined;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
}

function Data({ text, fault, onText, onSend }: DataProps): ReactNode {
  return (
    <div className={ui.stack}>
      <Suspense fallback={<Skeleton lines={4} />}>
        <JsonEditor label={compose.dataLabel} text={text} onChange={onText} onSubmit={onSend} />
      </Suspense>
      {fault !== undefined && <p className={css.fault}>{compose.dataFault(fault)}</p>}
    </div>
  );
}

interface TextBoxProps extends ComposerProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
  readonly isAnswer: boolean;
}

function TextBox({ files, text, onText, onSend, isAnswer, hasFocus }: TextBoxProps): ReactNode {
  const box = useRef<HTMLTextAreaElement>(null);
  const hint = useId();
  useEffect(() => {
    if (hasFocus && matchMedia("(hover: hover)").matches) box.current?.focus();
  }, [hasFocus]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onSend();
  };
  return (
    <>
      <textarea
        ref={box}
        className={classes(ui.input, css.text)}
        rows={2}
        value={text}
        aria-label={compose.label}
        aria-describedby={hint}
        placeholder={isAnswer ? compose.answer : compose.placeholder}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          files.add(event.clipboardData.files);
        }}
      />
      <span id={hint} className={ui.hidden}>
        {compose.keys}
      </span>
    </>
  );
}

interface TargetProps {
  readonly view: TalkView;
  readonly to: string | undefined;
  readonly onChange: (to: string) => void;
}

function Target({ view, to, onChange }: TargetProps): ReactNode {
  return (
    <select
      className={classes(ui.input, css.target)}
      aria-label={compose.to}
      value={to ?? "new"}
      onChange={(event) => onChange(event.target.value)}
    >
      {view.waiting.map((id) => (
        <option key={id} value={id}>
          {compose.waitingTask(`…${id.slice(-6)}`)}
        </option>
      ))}
      <option value="new">{compose.newTask}</option>
    </select>
  );
}

function Chips({
  files,
  references,
  onReferences,
}: Pick<ComposerProps, "files" | "references" | "onReferences">): ReactNode {
  if (files.list.length === 0 && references.length === 0 && files.fault === undefined) return undefined;
  return (
    <div className={css.chips}>
      {files.fault !== undefined && (
        <p className={css.fault} role="alert">
          {files.fault}
        </p>
      )}
      {references.map((id) => (
        <Chip
          key={id}
          text={`${compose.references} …${id.slice(-6)}`}
          onRemove={() => onReferences(references.filter((each) => each !== id))}
        />
      ))}
      {files.list.map(({ id, file }) => (
        <Chip
          key={id}
          text={typeof file === "string" ? file : compose.attached(file.name, bytesText(file.size))}
          onRemove={() => files.remove(id)}
        />
      ))}
    </div>
  );
}

function Chip({ text, onRemove }: { readonly text: string; readonly onRemove: () => void }): ReactNode {
  return (
    <span className={css.chip}>
      <span>{text}</span>
      <button type="button" aria-label={compose.remove(text)} onClick={onRemove}>
        <X size={13} aria-hidden="true" />
      </button>
    </span>
  );
}
