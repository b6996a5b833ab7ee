import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ReactNode } from "react";
import type { AuditRecord } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { operateWords } from "../../texts/operate.js";
import { Modal } from "../../ui/dialog.js";
import { absoluteTime } from "../../ui/format.js";
import { CopyText } from "../../ui/parts.js";
import { Fact, FactList } from "../shared/fact.js";
import { OutcomeBadge } from "./outcome.js";

const { audit: texts } = operateWords;

/** Facts in the order of the dialog. */
const names = Object.keys(texts.facts) as (keyof typeof texts.facts)[];

interface RecordDialogProps {
  readonly record: AuditRecord | undefined;
  readonly onClose: () => void;
}

/** Everything that one audit record has. */
export function RecordDialog({ record, onClose }: RecordDialogProps): ReactNode {
  return (
    <Modal title={texts.record} isOpen={record !== undefined} onClose={onClose}>
      {record !== undefined && (
        <FactList>
          {names.map((name) => {
            const shown = shownFact(record, name);
            return (
              shown !== undefined && (
                <Fact key={name} name={texts.facts[name]}>
                  {shown}
                </Fact>
              )
            );
          })}
        </FactList>
      )}
    </Modal>
  );
}

function shownFact(record: AuditRecord, name: keyof typeof texts.facts): ReactNode | undefined {
  if (name === "at" || name === "until") {
    const time = record[name];
    return time === undefined ? undefined : absoluteTime(timestampDate(time));
  }
  if (name === "count") return record.count === 0n ? undefined : String(record.count);
  if (name === "outcome") return <OutcomeBadge outcome={record.outcome} />;
  const value = record[name];
  return value === "" ? undefined : <CopyText text={value} />;
}
