"""DC-SVM (Hsieh, Si, Dhillon, ICML 2014): its graph, its plan, the nodes of its levels."""
