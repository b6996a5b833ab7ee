import { Braces, FileType, Link2, Paperclip } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { talkWords } from "../texts/talk.js";
import { Button, css as ui } from "../ui/parts.js";
import type { Attachments } from "./attachments.js";
import css from "./talk.module.css";
import type { TalkStore } from "./talk-store.js";

const { compose } = talkWords;

/** A field above the message that a button opens and closes. */
export type Extra = "url" | "types";

interface ToolsProps {
  readonly files: Attachments;
  readonly hasData: boolean;
  readonly onData: () => void;
  readonly open: Extra | undefined;
  readonly onOpen: (extra: Extra | undefined) => void;
}

/** The buttons for the other parts of a message: files, JSON and settings. */
export function ComposerTools({ files, hasData, onData, open, onOpen }: ToolsProps): ReactNode {
  const toggle = (extra: Extra) => () => onOpen(open === extra ? undefined : extra);
  return (
    <>
      <FilePicker files={files} />
      <Button kind="plain" icon title={compose.url} aria-pressed={open === "url"} onClick={toggle("url")}>
        <Link2 size={16} aria-hidden="true" />
      </Button>
      <Button kind="plain" icon title={compose.data} aria-pressed={hasData} onClick={onData}>
        <Braces size={16} aria-hidden="true" />
      </Button>
      <Button kind="plain" icon title={compose.types} aria-pressed={open === "types"} onClick={toggle("types")}>
        <FileType size={16} aria-hidden="true" />
      </Button>
    </>
  );
}

function FilePicker({ files }: { readonly files: Attachments }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button kind="plain" icon title={compose.attach} onClick={() => input.current?.click()}>
        <Paperclip size={16} aria-hidden="true" />
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={compose.attach}
        onChange={(event) => {
          files.add(event.target.files ?? []);
          event.target.value = "";
        }}
      />
    </>
  );
}

/** The field that is open. */
export function ExtraField({ open, files, store, onDone }: ExtraProps): ReactNode {
  if (open === "url") return <UrlField files={files} onDone={onDone} />;
  return open === "types" ? <TypesField store={store} /> : undefined;
}

interface ExtraProps {
  readonly open: Extra | undefined;
  readonly files: Attachments;
  readonly store: TalkStore;
  readonly onDone: () => void;
}

/** Attaches a file by its URL, which the agent reads, and this page does not. */
function UrlField({ files, onDone }: Pick<ExtraProps, "files" | "onDone">): ReactNode {
  const [text, setText] = useState("");
  const url = text.trim();
  const isUsable = URL.canParse(url) && /^https?:/i.test(url);
  const add = (): void => {
    if (!isUsable) return;
    files.addUrl(url);
    onDone();
  };
  return (
    <div className={css.extra}>
      <input
        className={ui.input}
        type="url"
        // biome-ignore lint/a11y/noAutofocus: the button was pressed to write here.
        autoFocus
        aria-label={compose.urlLabel}
        placeholder="https://example.com/report.pdf"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          // The message is not sent yet.
          event.preventDefault();
          add();
        }}
      />
      <Button disabled={!isUsable} onClick={add}>
        {compose.attachUrl}
      </Button>
    </div>
  );
}

/** The media types of answers that the conversation accepts. */
function TypesField({ store }: Pick<ExtraProps, "store">): ReactNode {
  const [text, setText] = useState(store.kept.accepts ?? "");
  return (
    <label className={css.extra}>
      <span>{compose.typesLabel}</span>
      <input
        className={ui.input}
        spellCheck={false}
        autoComplete="off"
        placeholder={compose.anyType}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          store.accept(target.value);
        }}
      />
    </label>
  );
}
