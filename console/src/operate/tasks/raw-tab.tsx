import { toJson } from "@bufbuild/protobuf";
import { type ReactNode, useMemo, useState } from "react";
import { type GetTaskResponse, GetTaskResponseSchema } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { download } from "../../content/blob.js";
import { JsonView } from "../../content/json-view.js";
import { taskPageWords } from "../../texts/task.js";
import { bytesText } from "../../ui/format.js";
import { Button, css, Note } from "../../ui/parts.js";

/** A larger answer becomes JSON when asked for. */
const MAX_BYTES = 2_000_000;

const { raw: texts } = taskPageWords;

/** The answer of the service as JSON. */
export function RawTab({ answer, taskId }: { readonly answer: GetTaskResponse; readonly taskId: string }): ReactNode {
  const [isAsked, setAsked] = useState(false);
  const isShown = isAsked || Number(answer.bytes) <= MAX_BYTES;
  const json = useMemo(() => {
    if (!isShown) return undefined;
    try {
      return toJson(GetTaskResponseSchema, answer);
    } catch (error) {
      return { error: String(error) };
    }
  }, [answer, isShown]);
  if (json === undefined) {
    return (
      <Note tone="wait">
        <p>{texts.large(bytesText(Number(answer.bytes)))}</p>
        <Button onClick={() => setAsked(true)}>{texts.show}</Button>
      </Note>
    );
  }
  return (
    <div className={css.card}>
      <div className={css.row}>
        <Button
          onClick={() => download(JSON.stringify(json, undefined, 2), `${taskId.replaceAll(/[^\w.-]/g, "_")}.json`)}
        >
          {texts.download}
        </Button>
      </div>
      <JsonView value={json} />
    </div>
  );
}
