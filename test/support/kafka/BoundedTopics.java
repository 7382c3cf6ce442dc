import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/** Refuses settings of new topics as the policies of managed clusters do: small segments, and large records. */
public final class BoundedTopics implements CreateTopicPolicy {
    private static final long LEAST_SEGMENT = 64L * 1024 * 1024;
    private static final long LARGEST_RECORD = 10_000_000;

    @Override
    public void configure(final Map<String, ?> configs) {
        // Its bounds are fixed.
    }

    @Override
    public void validate(final RequestMetadata topic) {
        final Map<String, String> settings = topic.configs();
        if (valueOf(settings, "segment.bytes", LEAST_SEGMENT) < LEAST_SEGMENT) {
            throw new PolicyViolationException("segment.bytes must be " + LEAST_SEGMENT + " or more");
        }
        if (valueOf(settings, "max.message.bytes", 0) > LARGEST_RECORD) {
            throw new PolicyViolationException("max.message.bytes must be " + LARGEST_RECORD + " or less");
        }
        if (topic.topic().contains("forbidden")) {
            throw new PolicyViolationException("no topic may be called so");
        }
    }

    private static long valueOf(final Map<String, String> settings, final String name, final long otherwise) {
        final String text = settings.get(name);
        return text == null ? otherwise : Long.parseLong(text);
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
