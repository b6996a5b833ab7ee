/** A piece of a file in a model's answer: one line, or several. */
export interface FilePiece {
  readonly path: string;
  readonly text: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** A file that is being read. */
interface OpenFile {
  readonly path: string;
  readonly fence: string;
  /** A line is held until the next one shows whether it was the last. */
  held: string | undefined;
  isBegun: boolean;
}

/**
 * Reads files from the stream of a model's answer, line by line. A file is a fenced block whose first line names the
 * language and the path:
 *
 *     ```ts src/main.ts
 *     console.log("hello");
 *     ```
 */
export class CodeFormat {
  /** Paths of the files so far, in order. */
  readonly paths: string[] = [];
  /** Text outside of the files. */
  text = "";
  #line = "";
  #file: OpenFile | undefined;

  /** Adds a piece of the answer and returns the pieces of files that it completes. */
  push(delta: string): FilePiece[] {
    const lines = (this.#line + delta).split("\n");
    this.#line = lines.pop() ?? "";
    return lines.flatMap((line) => this.#read(`${line}\n`));
  }

  /** Returns the last pieces at the end of the answer. A file without an end ends here. */
  end(): FilePiece[] {
    const rest = this.#line === "" ? [] : this.#read(this.#line);
    this.#line = "";
    return [...rest, ...this.#close()];
  }

  #read(line: string): FilePiece[] {
    const file = this.#file;
    if (file === undefined) return this.#open(line);
    if (line.trimEnd() === file.fence) return this.#close();
    const pieces = this.#pieces(file, false);
    file.held = line;
    return pieces;
  }

  #open(line: string): FilePiece[] {
    const [, fence, path] = /^(`{3,})[\w+#-]*[ \t]+(\S+)\s*$/.exec(line) ?? [];
    if (fence === undefined || path === undefined) {
      this.text += line;
      return [];
    }
    this.#file = { path, fence, held: undefined, isBegun: false };
    if (!this.paths.includes(path)) this.paths.push(path);
    return [];
  }

  #close(): FilePiece[] {
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return [];
    file.held ??= "";
    return this.#pieces(file, true);
  }

  #pieces(file: OpenFile, isLast: boolean): FilePiece[] {
    const { path, held, isBegun } = file;
    if (held === undefined) return [];
    file.isBegun = true;
    return [{ path, text: held, isFirst: !isBegun, isLast }];
  }
}

const mediaTypes: Readonly<Record<string, string>> = {
  css: "text/css",
  html: "text/html",
  js: "text/javascript",
  json: "application/json",
  md: "text/markdown",
  py: "text/x-python",
  sh: "text/x-shellscript",
  ts: "text/typescript",
};

/** Returns the media type of a file. */
export function mediaTypeOf(path: string): string {
  return mediaTypes[path.split(".").at(-1) ?? ""] ?? "text/plain";
}
