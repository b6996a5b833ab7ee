import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.tasks.AgentEmitter;
import io.a2a.spec.A2AError;
import io.a2a.spec.Part;
import io.a2a.spec.TextPart;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Does what the first word of a message says, after a while. This version only waits for a task if a special member
 * requests it, so without the delay the answer would vary.
 */
@ApplicationScoped
public class Agent implements AgentExecutor {
  private final Map<String, Thread> running = new ConcurrentHashMap<>();

  @Override
  public void execute(RequestContext context, AgentEmitter task) throws A2AError {
    String[] words = context.getUserInput(" ").split("\\s+");
    boolean goesOn = context.getTask() != null;
    if (words[0].equals("say") && !goesOn) {
      task.sendMessage(after(words));
      return;
    }
    if (goesOn) {
      task.addArtifact(text(String.join(" ", words)), null, "answer", null);
      task.complete();
      return;
    }
    task.submit();
    running.put(context.getTaskId(), Thread.currentThread());
    try {
      Thread.sleep(700);
      act(words, task);
    } catch (InterruptedException canceled) {
      // The interrupt ends the work of a canceled task and returns its thread. The library does neither.
    } finally {
      running.remove(context.getTaskId());
    }
  }

  private static void act(String[] words, AgentEmitter task) throws InterruptedException {
    switch (words[0]) {
      case "ask" -> task.requiresInput(task.newAgentMessage(text("What do you mean?"), null), true);
      case "stream" -> stream(task, Integer.parseInt(words[1]), Long.parseLong(words[2]));
      case "wait" -> {
        task.startWork();
        Thread.sleep(Long.parseLong(words[1]));
        task.complete();
      }
      case "fail" -> task.fail(task.newAgentMessage(text("It did not work."), null));
      default -> {
        task.startWork();
        task.addArtifact(text(after(words)), null, "echo", null);
        task.complete();
      }
    }
  }

  @Override
  public void cancel(RequestContext context, AgentEmitter task) throws A2AError {
    Thread thread = running.get(context.getTaskId());
    if (thread != null) thread.interrupt();
    task.cancel();
  }

  private static void stream(AgentEmitter task, int pieces, long everyMs) throws InterruptedException {
    task.startWork();
    for (int i = 1; i <= pieces; i++) {
      Thread.sleep(everyMs);
      task.addArtifact(text(i + " "), "pieces", "pieces", null, i > 1, i == pieces);
    }
    task.complete();
  }

  private static String after(String[] words) {
    return String.join(" ", List.of(words).subList(1, words.length));
  }

  private static List<Part<?>> text(String text) {
    return List.of(new TextPart(text));
  }
}
