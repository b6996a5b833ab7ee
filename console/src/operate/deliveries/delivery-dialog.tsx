import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Delivery, DeliveryState } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { operateWords } from "../../texts/operate.js";
import { Modal } from "../../ui/dialog.js";
import { ErrorNote } from "../../ui/error.js";
import { Badge, CopyText, css, Note, Skeleton, Time } from "../../ui/parts.js";
import { Fact, FactList } from "../shared/fact.js";
import { OwnerName, TaskLink, TenantName } from "../shared/names.js";
import { dateOf } from "../tasks/task-row.js";
import { AttemptsTable } from "./attempts-table.js";
import { type DeliveryKey, tones } from "./delivery.js";
import { DeliveryActions } from "./delivery-actions.js";

const { deliveries: texts } = operateWords;

/** Milliseconds between reads. */
const EVERY = 3_000;

interface DeliveryDialogProps {
  readonly open: DeliveryKey | undefined;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** One delivery with its latest attempts. */
export function DeliveryDialog({ open, onClose, onDeleted }: DeliveryDialogProps): ReactNode {
  return (
    <Modal title={texts.detail} isOpen={open !== undefined} onClose={onClose} wide>
      {open !== undefined && <Details {...open} onDeleted={onDeleted} />}
    </Modal>
  );
}

function Details({ taskId, configId, onDeleted }: DeliveryKey & { readonly onDeleted: () => void }): ReactNode {
  const found = useQuery({
    queryKey: ["deliveries", "one", taskId, configId],
    refetchInterval: EVERY,
    queryFn: async () => {
      const { deliveries } = await admin.listDeliveries({ taskId, pageSize: 1_000 });
      const delivery = deliveries.find((each) => each.configId === configId);
      if (delivery === undefined) return null;
      const { attempts } = await admin.listAttempts({ taskId, configId });
      return { delivery, attempts };
    },
  });
  if (found.error !== null) return <ErrorNote error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <Skeleton lines={6} />;
  if (found.data === null) return <Note tone="wait">{texts.gone}</Note>;
  const { delivery, attempts } = found.data;
  return (
    <>
      <DeliveryFacts delivery={delivery} />
      <DeliveryActions delivery={delivery} onDeleted={onDeleted} />
      <h3>{texts.attempts}</h3>
      <AttemptsTable attempts={attempts} />
    </>
  );
}

function DeliveryFacts({ delivery }: { readonly delivery: Delivery }): ReactNode {
  const { taskId, configId, owner, tenant, target, state, position, headPosition, attempts, failure, holder } =
    delivery;
  const at = dateOf(delivery.at);
  return (
    <FactList>
      <Fact name={operateWords.state}>
        <Badge tone={tones[state]}>{texts.states[state]}</Badge>
      </Fact>
      <Fact name={texts.target}>
        <CopyText text={target} />
      </Fact>
      <Fact name={operateWords.task}>
        <TaskLink id={taskId} />
      </Fact>
      <Fact name={texts.config}>
        <CopyText text={configId} />
      </Fact>
      <Fact name={operateWords.owner}>
        <OwnerName owner={owner} />
      </Fact>
      {tenant !== "" && (
        <Fact name={operateWords.tenant}>
          <TenantName tenant={tenant} />
        </Fact>
      )}
      <Fact name={texts.progress}>{texts.ofEntries(position, headPosition)}</Fact>
      {attempts > 0 && <Fact name={texts.failed}>{attempts}</Fact>}
      {failure !== "" && <Fact name={texts.failure}>{failure}</Fact>}
      {delivery.failingSince !== undefined && (
        <Fact name={texts.failingSince}>
          <Time at={dateOf(delivery.failingSince)} />
        </Fact>
      )}
      {state === DeliveryState.DUE && (
        <Fact name={texts.when}>
          <Time at={at} />
        </Fact>
      )}
      {state === DeliveryState.DEAD && (
        <Fact name={texts.gaveUp}>
          <Time at={at} />
        </Fact>
      )}
      {holder !== "" && (
        <Fact name={texts.holder}>
          <span className={css.mono}>{holder}</span>
        </Fact>
      )}
    </FactList>
  );
}
