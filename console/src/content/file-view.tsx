import { Download, FileText } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { contentWords } from "../texts/content.js";
import { Button, Bytes, css as ui } from "../ui/parts.js";
import { download, useBlobUrl } from "./blob.js";
import { Code } from "./code.js";
import css from "./content.module.css";
import { languageOf } from "./languages.js";
import { type FileKind, fileKind, isHeavy, mediaTypeOf, safeName } from "./media.js";

/** Bytes up to which a file is shown without being asked for. */
const MAX_SHOWN = 8_000_000;

/** Bytes of a text that are shown. */
const MAX_TEXT = 200_000;

interface FileProps {
  readonly bytes: Uint8Array;
  readonly filename: string;
  readonly mediaType: string;
}

/** A file: shown if the browser can show it safely, and always a download. */
export function FileView({ bytes, filename, mediaType }: FileProps): ReactNode {
  const type = mediaTypeOf(mediaType, filename);
  const kind = fileKind(type);
  const name = safeName(filename);
  // The viewers of browsers run the scripts of a PDF, and load nothing in a sandbox.
  const [isShown, setShown] = useState(() => bytes.length <= MAX_SHOWN && kind !== "pdf" && !isHeavy(type, bytes));
  return (
    <figure className={css.file}>
      <figcaption className={css.fileHead}>
        <FileText size={15} aria-hidden="true" />
        <span className={css.fileName} title={filename}>
          {filename === "" ? contentWords.unnamed : name}
        </span>
        <span className={`${ui.soft} ${ui.small}`}>
          {type === "" ? "" : `${type.slice(0, 60)} · `}
          <Bytes size={bytes.length} />
        </span>
        {kind !== "other" && bytes.length > 0 && (
          <Button kind="plain" onClick={() => setShown(!isShown)} aria-expanded={isShown}>
            {isShown ? contentWords.hide : contentWords.show}
          </Button>
        )}
        <Button kind="plain" icon title={contentWords.download(name)} onClick={() => download(bytes, name)}>
          <Download size={15} aria-hidden="true" />
        </Button>
      </figcaption>
      {kind === "pdf" && !isShown && <p className={css.hint}>{contentWords.pdfHint}</p>}
      {bytes.length === 0 && <p className={css.hint}>{contentWords.notKept}</p>}
      {isShown && bytes.length > 0 && kind !== "other" && <Shown kind={kind} type={type} bytes={bytes} name={name} />}
    </figure>
  );
}

interface ShownProps {
  readonly kind: FileKind;
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly name: string;
}

function Shown({ kind, type, bytes, name }: ShownProps): ReactNode {
  if (kind === "text") return <TextFile bytes={bytes} type={type} name={name} />;
  return <Media kind={kind} type={type} bytes={bytes} name={name} />;
}

function TextFile({ bytes, type, name }: Omit<ShownProps, "kind">): ReactNode {
  const text = useMemo(() => new TextDecoder().decode(bytes.subarray(0, MAX_TEXT)), [bytes]);
  return <Code code={text} language={languageOf(type, name)} bare />;
}

function Media({ kind, type, bytes, name }: ShownProps): ReactNode {
  const url = useBlobUrl(bytes, type);
  const [isBroken, setBroken] = useState(false);
  if (url === undefined) return undefined;
  const onError = (): void => setBroken(true);
  if (isBroken) return <p className={css.hint}>{contentWords.broken}</p>;
  if (kind === "image") {
    // As an image, an SVG runs no scripts and loads nothing.
    return <img className={css.image} src={url} alt={contentWords.image(name)} onError={onError} />;
  }
  // biome-ignore lint/a11y/useMediaCaption: agents send no captions.
  if (kind === "audio") return <audio src={url} controls aria-label={contentWords.audio(name)} onError={onError} />;
  if (kind === "video") {
    return (
      // biome-ignore lint/a11y/useMediaCaption: agents send no captions.
      <video className={css.image} src={url} controls aria-label={contentWords.video(name)} onError={onError} />
    );
  }
  if (!navigator.pdfViewerEnabled) return <p className={css.hint}>{contentWords.noPdf}</p>;
  // The blob's type is that of PDF, so that no HTML is shown in the frame, whatever the bytes are.
  return <iframe className={css.pdf} src={url} title={contentWords.pdf(name)} />;
}
