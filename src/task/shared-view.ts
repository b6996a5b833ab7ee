import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { LARGE_BYTES, mark } from "../wire/marks.js";
import { cacheForms } from "../wire/serialization-cache.js";
import { type TaskFold, type View, viewTask } from "./fold.js";

/** Views of a fold at one position that are kept for further readers of the same. */
const maxViews = 16;

/** The views of a fold at a position, for as long as they are read. It keeps the fold, which they are made of. */
interface Shown {
  readonly fold: TaskFold;
  readonly position: number;
  readonly views: Map<string, WeakRef<Task>>;
}

const shown = new WeakMap<TaskFold, Shown>();

/**
 * The task of a fold as a reader wants it, which later entries do not change. A large one is made once for all readers that ask
 * at the same position for the same view, so that what is written of it is, too.
 */
export function viewOf(fold: TaskFold, view: View = {}): Task {
  const bytes = view.artifacts === false ? fold.sizeWithoutArtifacts : fold.size;
  const nothing = view.artifacts === false && view.historyLength === 0;
  return bytes < LARGE_BYTES || nothing ? viewTask(fold.task, view) : sharedView(fold, view, bytes);
}

function sharedView(fold: TaskFold, view: View, bytes: number): Task {
  const { historyLength = "all", artifacts = true } = view;
  const key = `${historyLength} ${artifacts}`;
  const at = shownAt(fold);
  const known = at.views.get(key)?.deref();
  if (known !== undefined) return known;
  const task = mark(cacheForms(viewTask(fold.task, view)), { weight: { bytes, source: at } });
  at.views.set(key, new WeakRef(task));
  if (at.views.size > maxViews) at.views.delete(at.views.keys().next().value as string);
  return task;
}

function shownAt(fold: TaskFold): Shown {
  const { position } = fold;
  let at = shown.get(fold);
  if (at?.position !== position) {
    at = { fold, position, views: new Map() };
    shown.set(fold, at);
  }
  return at;
}
